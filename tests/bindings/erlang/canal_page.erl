%% SPDX-License-Identifier: Apache-2.0
%% The sessions of the binding's page, typed in as they are printed, on regions with names of their
%% own. `...` stands for anything.
-module(canal_page).
-include_lib("eunit/include/eunit.hrl").
-export([read/1]).

%% -run canal_page read FILE, before the tests.
read([File]) ->
    {ok, Text} = file:read_file(File),
    Renamed = lists:foldl(fun(Name, Before) ->
                              string:replace(Before, quoted(Name), quoted(region(Name)), all)
                          end,
                          string:replace(unicode:characters_to_list(Text), "start(router)",
                                         "start(\"router\")", all), names()),
    persistent_term:put(?MODULE, lists:flatten(Renamed)).

names() ->
    ["router", "pool"].

region(Name) ->
    "erlang." ++ os:getpid() ++ "." ++ Name.

quoted(Name) ->
    "\"" ++ Name ++ "\"".

page_test_() ->
    {ok, Block} = re:compile("^```erlang\n(.*?)^```$", [multiline, dotall]),
    {match, Found} = re:run(persistent_term:get(?MODULE), Block,
                            [global, {capture, all_but_first, list}]),
    {foreach, fun() -> ok end,
     fun(_) -> lockkeeper_canal:stop(), [lockkeeper_canal:remove(region(Name)) || Name <- names()] end,
     [{timeout, 60, {"README.md, example " ++ integer_to_list(N), fun() -> play(Session) end}}
      || {N, [Session]} <- lists:enumerate(Found)]}.

play(Session) ->
    Lines = [Line || Line <- string:split(Session, "\n", all), Line =/= ""],
    ?assert(length(Lines) > 1),
    play(Lines, erl_eval:new_bindings()).

play([], _) ->
    ok;
play([Prompted | Lines], Bindings) ->
    {match, [Typed]} = re:run(Prompted, "^[0-9]+> (.*)$", [{capture, all_but_first, list}]),
    {Expected, Others} = lists:splitwith(fun(Line) -> re:run(Line, "^[0-9]+> ") =:= nomatch end, Lines),
    {ok, Tokens, _} = erl_scan:string(Typed),
    {ok, Expressions} = erl_parse:parse_exprs(Tokens),
    {value, Value, New} = erl_eval:exprs(Expressions, Bindings),
    Printed = without_space(io_lib:format("~p", [Value])),
    Pattern = re:replace(without_space(lists:join(" ", Expected)), "[][(){}<>|#*+?^$\\\\]", "\\\\&",
                         [global, {return, list}]),
    Free = string:replace(Pattern, "...", ".*", all),
    ?assertEqual({match, Typed, Printed},
                 {re:run(Printed, ["^", Free, "$"], [{capture, none}]), Typed, Printed}),
    play(Others, New).

without_space(Text) ->
    re:replace(Text, "\\s+", "", [global, {return, list}]).
