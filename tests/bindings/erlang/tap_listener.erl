%% SPDX-License-Identifier: Apache-2.0
%% What EUnit reports, as TAP on the standard output, and the main function of the tests:
%%
%%     erl -noshell -pa DIR... -run tap_listener main MODULE...
-module(tap_listener).
-behaviour(eunit_listener).
-export([main/1, start/0, start/1]).
-export([init/1, handle_begin/3, handle_end/3, handle_cancel/3, terminate/2]).

main(Modules) ->
    Tests = [list_to_atom(Module) || Module <- Modules],
    Result = eunit:test(Tests, [no_tty, {report, {?MODULE, []}}]),
    halt(case Result of ok -> 0; _ -> 1 end).

start() ->
    start([]).

start(Options) ->
    eunit_listener:start(?MODULE, Options).

init(_) ->
    0.

handle_begin(_, _, Count) ->
    Count.

handle_end(test, Data, Count) ->
    Word = case proplists:get_value(status, Data) of ok -> "ok"; _ -> "not ok" end,
    io:format("~s ~w - ~ts~n", [Word, Count + 1, title(Data)]),
    [io:put_chars(comment(io_lib:format("~tp~n~ts", [Data, proplists:get_value(output, Data, "")])))
     || Word =/= "ok"],
    Count + 1;
handle_end(group, _, Count) ->
    Count.

handle_cancel(group, Data, Count) ->
    %% A setup that failed, or a timeout: its tests have not run.
    io:format("not ok ~w - ~ts~n~ts", [Count + 1, title(Data), comment(io_lib:format("~tp", [Data]))]),
    Count + 1;
handle_cancel(test, Data, Count) ->
    io:format("not ok ~w - ~ts~n~ts", [Count + 1, title(Data), comment(io_lib:format("~tp", [Data]))]),
    Count + 1.

terminate(_, Count) ->
    io:format("1..~w~n", [Count]),
    ok.

title(Data) ->
    case {proplists:get_value(desc, Data), proplists:get_value(source, Data)} of
        {Text, _} when Text =/= undefined, Text =/= <<>>, Text =/= "" -> Text;
        {_, {_, Name, _}} ->
            %% '-kill_9_test_/0-fun-3-' is what the compiler makes of kill_9_test_().
            [First | _] = string:split(string:trim(atom_to_list(Name), leading, "-"), "_test"),
            string:replace(First, "_", " ", all);
        _ -> "a group"
    end.

comment(Text) ->
    [["# ", Line, "\n"] || Line <- string:split(unicode:characters_to_binary(Text), "\n", all)].
