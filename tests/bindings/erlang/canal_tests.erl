%% SPDX-License-Identifier: Apache-2.0
%% The Erlang binding on real regions: permits, and the ends of those that hold them.
-module(canal_tests).
-include_lib("eunit/include/eunit.hrl").
-export([hold_and_wait/1]).

-define(PATIENCE_MS, 60000).

%% ---- regions -------------------------------------------------------------------------------------

name() ->
    lists:concat(["erlang.", os:getpid(), ".", erlang:unique_integer([positive])]).

in_region(Test) ->
    in_region(#{}, Test).

in_region(Options, Test) ->
    Name = name(),
    {ok, Region} = lockkeeper_canal:open(Name, Options),
    try
        Test(Name, Region)
    after
        lockkeeper_canal:close(Region),
        lockkeeper_canal:remove(Name)
    end.

default(Test) ->
    {setup, fun() -> Name = name(), ok = lockkeeper_canal:start(Name), Name end,
     fun(Name) -> ok = lockkeeper_canal:stop(), ok = lockkeeper_canal:remove(Name) end,
     fun(_) -> {timeout, ?PATIENCE_MS div 1000, Test} end}.

%% Until the function returns true: the runtime ends a process's permits a moment after the process.
await(What) ->
    await(What, erlang:monotonic_time(millisecond) + ?PATIENCE_MS).

await(What, Until) ->
    case What() of
        true ->
            ok;
        _ ->
            ?assert(erlang:monotonic_time(millisecond) < Until),
            receive after 1 -> ok end,
            await(What, Until)
    end.

%% ---- processes -----------------------------------------------------------------------------------

%% A process that calls what it is told to.
helper() ->
    spawn(fun obey/0).

obey() ->
    receive
        {call, From, Function} ->
            From ! {self(), Function()},
            obey();
        stop ->
            ok
    end.

call(Pid, Function) ->
    Pid ! {call, self(), Function},
    receive {Pid, Answer} -> Answer after ?PATIENCE_MS -> error(no_answer) end.

kill(Pid) ->
    ends(Pid, fun() -> exit(Pid, kill) end).

ends(Pid, How) ->
    Monitor = monitor(process, Pid),
    How(),
    receive {'DOWN', Monitor, process, Pid, _} -> ok after ?PATIENCE_MS -> error(alive) end.

in_process(Function) ->
    Pid = helper(),
    Answer = call(Pid, Function),
    kill(Pid),
    Answer.

%% ---- what the counters do ------------------------------------------------------------------------

session_test_() ->
    default(fun() ->
        MaxPer = 3,
        Acquire = fun(Resources) -> lockkeeper_canal:acquire(db, MaxPer, Resources) end,
        ?assertEqual([{acquired, 1}, {acquired, 2}, {acquired, 3}, full],
                     [Acquire(1) || _ <- lists:seq(1, 4)]),
        ?assertEqual([{acquired, 4}, full], [Acquire(2), Acquire(1)]),
        ?assertEqual([ok, full, ok, {acquired, 3}, full],
                     [lockkeeper_canal:release(db, MaxPer, 1), Acquire(1), lockkeeper_canal:release(db, MaxPer, 2),
                      Acquire(1), Acquire(1)])
    end).

%% A to E of the interleaving that corrupts a single counter.
interleaving_test_() ->
    default(fun() ->
        Asks = [{b, 1}, {a, 1}, {c, 2}, {e, 1}, {d, 2}],
        Helpers = [{Who, Resources, helper()} || {Who, Resources} <- Asks],
        Answers = [{Who, call(Pid, fun() -> lockkeeper_canal:acquire(app, 3, Resources) end)}
                   || {Who, Resources, Pid} <- Helpers],
        ?assertEqual([{b, {acquired, 1}}, {a, {acquired, 2}}, {c, {acquired, 3}}, {e, full},
                      {d, {acquired, 4}}], Answers),
        [kill(Pid) || {_, _, Pid} <- Helpers],
        await(fun() -> lockkeeper_canal:count(app) =:= 0 end)
    end).

downsize_release_test_() ->
    default(fun() -> resize([{2, 6}, {1, 3}], fun(Pid) -> call(Pid, fun release_all/0) end) end).

downsize_crash_test_() ->
    default(fun() -> resize([{2, 6}, {1, 3}], fun kill/1) end).

upsize_release_test_() ->
    default(fun() -> resize([{1, 3}, {2, 6}], fun(Pid) -> call(Pid, fun release_all/0) end) end).

upsize_crash_test_() ->
    default(fun() -> resize([{1, 3}, {2, 6}], fun kill/1) end).

%% Fills with the first number of resources, asks with the second, and frees all by `End`.
resize([{Resources, Room}, {Others, OtherRoom}], End) ->
    Holder = helper(),
    Fill = fun(Many, Count) ->
               [lockkeeper_canal:acquire(app, 3, Many) || _ <- lists:seq(1, Count)]
           end,
    ?assertEqual([{acquired, N} || N <- lists:seq(1, Room)],
                 call(Holder, fun() -> Fill(Resources, Room) end)),
    Left = max(0, OtherRoom - Room),
    Other = helper(),
    ?assertEqual([{acquired, Room + N} || N <- lists:seq(1, Left)] ++ [full],
                 call(Other, fun() -> Fill(Others, Left + 1) end)),
    End(Holder),
    End(Other),
    await(fun() -> lockkeeper_canal:count(app) =:= 0 end),
    ?assertEqual([{acquired, N} || N <- lists:seq(1, OtherRoom)] ++ [full],
                 in_process(fun() -> Fill(Others, OtherRoom + 1) end)).

release_all() ->
    case lockkeeper_canal:release(app) of
        ok -> release_all();
        {error, not_held} -> ok
    end.

%% What a process has released does not end a second time when it dies.
release_right_resource_test_() ->
    default(fun() ->
        Pid = helper(),
        ?assertEqual({acquired, 1}, call(Pid, fun() -> lockkeeper_canal:acquire(a, 1, 1) end)),
        ?assertEqual({acquired, 1}, call(Pid, fun() -> lockkeeper_canal:acquire(b, 1, 1) end)),
        ?assertEqual(ok, call(Pid, fun() -> lockkeeper_canal:release(a) end)),
        ?assertEqual({acquired, 1}, lockkeeper_canal:acquire(a, 1, 1)),
        kill(Pid),
        await(fun() -> lockkeeper_canal:acquire(b, 1, 1) =:= {acquired, 1} end),
        ?assertEqual([1, 1, full], [lockkeeper_canal:count(a), lockkeeper_canal:count(b), lockkeeper_canal:acquire(a, 1, 1)])
    end).

not_held_test_() ->
    default(fun() ->
        {acquired, 1} = lockkeeper_canal:acquire(k, 1, 1),
        ?assertEqual({error, not_held}, in_process(fun() -> lockkeeper_canal:release(k) end)),
        ?assertEqual({error, not_held}, lockkeeper_canal:release(other)),
        ?assertEqual([ok, {error, not_held}], [lockkeeper_canal:release(k), lockkeeper_canal:release(k)]),
        ?assertEqual(0, lockkeeper_canal:count(k)),
        ?assertEqual(full, lockkeeper_canal:acquire(k, 0, 1)),
        ?assertEqual(full, lockkeeper_canal:acquire(k, 1, 0)),
        ?assertEqual({acquired, 1}, lockkeeper_canal:acquire(k, 16#ffffffff, 16#ffffffff))
    end).

%% ---- many processes ------------------------------------------------------------------------------

%% More than holders fit into a region: the virtual machine has one for each scheduler.
many_processes_test_() ->
    {timeout, 600, fun() ->
        Many = 20000,
        in_region(#{permits => 32768}, fun(_, Region) ->
            Self = self(),
            Pids = [spawn(fun() ->
                        Self ! {self(), lockkeeper_canal:acquire(Region, one, Many, 1)},
                        receive stop -> ok end
                    end) || _ <- lists:seq(1, Many)],
            Answers = [receive {Pid, {acquired, N}} -> N end || Pid <- Pids],
            ?assertEqual(lists:seq(1, Many), lists:sort(Answers)),
            ?assertEqual(full, lockkeeper_canal:acquire(Region, one, Many, 1)),
            ?assert(maps:get(holders_in, lockkeeper_canal:info(Region)) =< erlang:system_info(schedulers)),
            [exit(Pid, kill) || Pid <- Pids],
            await(fun() -> lockkeeper_canal:count(Region, one) =:= 0 end)
        end)
    end}.

%% Never more than the limit, counted by the processes themselves; some die while they hold.
concurrent_test_() ->
    {timeout, 600, fun() ->
        Limit = 7,
        in_region(fun(_, Region) ->
            Inside = atomics:new(2, []),
            Pids = [spawn_monitor(fun() -> enter_and_leave(Region, Limit, Inside, 400) end)
                    || _ <- lists:seq(1, 50)],
            [receive {'DOWN', Monitor, process, Pid, Why} -> ?assertEqual(done, Why) end
             || {Pid, Monitor} <- Pids],
            ?assertEqual(0, atomics:get(Inside, 1)),
            ?assert(atomics:get(Inside, 2) > 0),
            await(fun() -> lockkeeper_canal:count(Region, <<"gate">>) =:= 0 end)
        end)
    end}.

enter_and_leave(_, _, _, 0) ->
    exit(done);
enter_and_leave(Region, Limit, Inside, Rounds) ->
    case lockkeeper_canal:acquire(Region, <<"gate">>, Limit, 1) of
        {acquired, Ordinal} when Ordinal =< Limit ->
            true = atomics:add_get(Inside, 1, 1) =< Limit,
            atomics:add(Inside, 2, 1),
            erlang:yield(),
            atomics:sub(Inside, 1, 1),
            %% The last one is left to the end of the process.
            Rounds =:= 1 orelse (ok = lockkeeper_canal:release(Region, <<"gate">>));
        full ->
            erlang:yield()
    end,
    enter_and_leave(Region, Limit, Inside, Rounds - 1).

%% Killed wherever they are, also on dirty schedulers: nothing stays held.
killed_anywhere_test_() ->
    {timeout, 600, fun() ->
        in_region(fun(_, Region) ->
            {acquired, 1} = lockkeeper_canal:acquire(Region, 0, 1, 1),
            Pids = [spawn(fun() -> try_for_ever(Region, N) end) || N <- lists:seq(1, 40)],
            [begin erlang:yield(), kill(Pid) end || Pid <- Pids],
            await(fun() -> lockkeeper_canal:count(Region, 1) =:= 0 end),
            ?assertEqual(1, lockkeeper_canal:count(Region, 0)),
            await(fun() -> maps:get(keys_held, lockkeeper_canal:info(Region)) =:= 1 end)
        end)
    end}.

try_for_ever(Region, N) ->
    lockkeeper_canal:acquire(Region, 0, 1, 1),
    lockkeeper_canal:acquire(Region, 1, 30, 1),
    lockkeeper_canal:acquire(Region, {N}, 1, 1),
    N rem 2 =:= 0 orelse lockkeeper_canal:release(Region, 1),
    try_for_ever(Region, N).

one_process_with_many_test_() ->
    {timeout, 600, fun() ->
        Many = 10000,
        in_region(#{keys => Many, permits => 3 * Many}, fun(_, Region) ->
            Keys = [{key, N rem (Many div 2)} || N <- lists:seq(1, Many)],
            Pid = helper(),
            call(Pid, fun() -> [{acquired, _} = lockkeeper_canal:acquire(Region, K, 2, 1) || K <- Keys] end),
            ?assertEqual(2, lockkeeper_canal:count(Region, {key, 17})),
            call(Pid, fun() -> ok = lockkeeper_canal:release(Region, {key, 17}) end),
            ?assertEqual(1, lockkeeper_canal:count(Region, {key, 17})),
            kill(Pid),
            await(fun() -> maps:get(keys_held, lockkeeper_canal:info(Region)) =:= 0 end)
        end)
    end}.

%% All entries are used, whichever scheduler's holder has reserved them.
no_room_test_() ->
    {timeout, 600, fun() ->
        in_region(#{keys => 500, permits => 128, holders => 2}, fun(_, Region) ->
            Permits = maps:get(permits, lockkeeper_canal:info(Region)),
            Take = fun(N) -> lockkeeper_canal:acquire(Region, N rem 100, 100000, 1) end,
            Answers = [in_helper_that_stays(fun() -> Take(N) end) || N <- lists:seq(1, Permits + 8)],
            {Got, Refused} = lists:split(Permits, [Answer || {_, Answer} <- Answers]),
            ?assert(lists:all(fun({acquired, _}) -> true; (_) -> false end, Got)),
            ?assertEqual([{error, no_room}], lists:usort(Refused)),
            {First, _} = hd(Answers),
            kill(First),
            await(fun() -> {acquired, 1} =:= lockkeeper_canal:acquire(Region, new, 1, 1) end)
        end)
    end}.

in_helper_that_stays(Function) ->
    Pid = helper(),
    {Pid, call(Pid, Function)}.

%% ---- keys and arguments --------------------------------------------------------------------------

keys_test_() ->
    {timeout, 600, fun() ->
        in_region(fun(_, Region) ->
            Terms = [db, "db", <<"db">>, <<>>, <<1:3>>, [], {}, 1, 1.0, -1, 1 bsl 4000, self(), make_ref(),
                     fun erlang:now/0, #{a => 1}, {app, <<"a">>}, binary:copy(<<"x">>, 64),
                     binary:copy(<<"x">>, 65), binary:copy(<<"x">>, 66), lists:seq(1, 50000),
                     maps:from_list([{N, N} || N <- lists:seq(1, 100)])],
            ?assertEqual([{acquired, 1}], lists:usort([lockkeeper_canal:acquire(Region, T, 1, 1) || T <- Terms])),
            ?assertEqual([full], lists:usort([lockkeeper_canal:acquire(Region, T, 1, 1) || T <- Terms])),
            ?assertEqual([1], lists:usort([lockkeeper_canal:count(Region, T) || T <- Terms])),
            ?assertEqual([ok], lists:usort([lockkeeper_canal:release(Region, T) || T <- Terms])),
            ?assertEqual(0, maps:get(keys_held, lockkeeper_canal:info(Region)))
        end)
    end}.

bad_arguments_test_() ->
    default(fun() ->
        Name = name(),
        {ok, Region} = lockkeeper_canal:open(Name),
        Numbers = [-1, 1 bsl 32, 1 bsl 70, 1.0, a, <<"1">>, [1], {1}],
        [?assertError(badarg, lockkeeper_canal:acquire(k, N, 1)) || N <- Numbers],
        [?assertError(badarg, lockkeeper_canal:acquire(k, 1, N)) || N <- Numbers],
        Regions = [make_ref(), none, self(), <<>>, 1, {Region}],
        [?assertError(badarg, lockkeeper_canal:acquire(R, k, 1, 1)) || R <- Regions],
        [?assertError(badarg, lockkeeper_canal:release(R, k)) || R <- Regions],
        [?assertError(badarg, lockkeeper_canal:count(R, k)) || R <- Regions],
        [?assertError(badarg, lockkeeper_canal:info(R)) || R <- Regions],
        [?assertError(badarg, lockkeeper_canal:close(R)) || R <- Regions],
        Options = [#{keys => -1}, #{keys => a}, #{must_exist => 1}, #{is_shared => a}, #{unknown => 1},
                   #{mode => 1 bsl 40}, #{label => 1}, #{label => <<0>>}, [], none],
        [?assertError(badarg, lockkeeper_canal:open("x", O)) || O <- Options],
        Names = [1, {a}, "a\0b", [<<255>>], self()],
        [?assertError(badarg, lockkeeper_canal:open(N)) || N <- Names],
        [?assertError(badarg, lockkeeper_canal:remove(N)) || N <- Names],
        ?assertEqual(0, maps:get(keys_held, lockkeeper_canal:info())),
        ok = lockkeeper_canal:close(Region),
        ok = lockkeeper_canal:remove(Name)
    end).

open_errors_test_() ->
    {timeout, 600, fun() ->
        Reason = fun(Name, Options) -> {error, {R, Text}} = lockkeeper_canal:open(Name, Options),
                                       ?assert(is_binary(Text)), R end,
        ?assertEqual(none, Reason(name(), #{must_exist => true})),
        ?assertEqual(invalid, Reason("", #{})),
        ?assertEqual(invalid, Reason(lists:duplicate(5000, $a), #{})),
        ?assertEqual(invalid, Reason(name(), #{keys => 16#ffffffff})),
        ?assertEqual(invalid, Reason(name(), #{mode => 8#17777})),
        Name = name(),
        File = "/dev/shm/canal." ++ Name,
        ok = file:write_file(File, "no region"),
        ?assertEqual(foreign, Reason(Name, #{})),
        %% Another user's, where the tests may make one; else one without rights.
        case os:cmd("id -u") of
            "0\n" -> ok = file:change_owner(File, 1);
            _ -> ok = file:change_mode(File, 0)
        end,
        ?assertEqual(denied, Reason(Name, #{})),
        ok = lockkeeper_canal:remove(Name),
        ?assertEqual({error, none}, lockkeeper_canal:remove(Name)),
        ?assertError(not_started, lockkeeper_canal:acquire(k, 1, 1)),
        ?assertError(not_started, lockkeeper_canal:release(k)),
        ?assertEqual(ok, lockkeeper_canal:stop())
    end}.

label_too_long_test() ->
    Name = name(),
    Long = binary:copy(<<"x">>, 385),
    ?assertMatch({error, {invalid, _}}, lockkeeper_canal:open(Name, #{label => Long})),
    lockkeeper_canal:remove(Name).

started_twice_test_() ->
    default(fun() -> ?assertMatch({error, {already_started, _}}, lockkeeper_canal:start(name())) end).

%% ---- ends ----------------------------------------------------------------------------------------

gone_test_() ->
    {timeout, 600, fun() ->
        Name = name(),
        {ok, Region} = lockkeeper_canal:open(Name),
        {acquired, 1} = lockkeeper_canal:acquire(Region, k, 1, 1),
        ok = lockkeeper_canal:remove(Name),
        %% Where there is room, the library looks every 10 ms; where there is none, at once.
        ?assertEqual({error, gone}, lockkeeper_canal:acquire(Region, k, 1, 1)),
        await(fun() -> lockkeeper_canal:acquire(Region, other, 100000, 1) =:= {error, gone} end),
        ?assertEqual(ok, lockkeeper_canal:release(Region, k)),
        ok = lockkeeper_canal:close(Region)
    end}.

close_test_() ->
    {timeout, 600, fun() ->
        in_region(fun(Name, Region) ->
            {ok, Other} = lockkeeper_canal:open(Name),
            Pid = helper(),
            {acquired, 1} = call(Pid, fun() -> lockkeeper_canal:acquire(Region, k, 1, 1) end),
            full = lockkeeper_canal:acquire(Other, k, 1, 1),
            ok = lockkeeper_canal:close(Region),
            ?assertEqual({acquired, 1}, lockkeeper_canal:acquire(Other, k, 1, 1)),
            Closed = {error, closed},
            ?assertEqual([Closed, Closed, Closed, Closed, {error, not_held}],
                         call(Pid, fun() -> [lockkeeper_canal:acquire(Region, k, 1, 1), lockkeeper_canal:release(Region, k),
                                             lockkeeper_canal:count(Region, k), lockkeeper_canal:info(Region),
                                             lockkeeper_canal:release(Region, k)] end)),
            ?assertEqual(Closed, lockkeeper_canal:acquire(Region, k, 1, 1)),
            ok = lockkeeper_canal:close(Region),
            kill(Pid),
            ?assertEqual(1, lockkeeper_canal:count(Other, k)),
            ok = lockkeeper_canal:close(Other)
        end)
    end}.

%% Processes call while another one closes, and one is killed with permits of what was closed.
close_while_used_test_() ->
    {timeout, 600, fun() ->
        Name = name(),
        [begin
             {ok, Region} = lockkeeper_canal:open(Name),
             Pids = [spawn(fun() -> try_for_ever(Region, N) end) || N <- lists:seq(1, 20)],
             erlang:yield(),
             ok = lockkeeper_canal:close(Region),
             [kill(Pid) || Pid <- Pids]
         end || _ <- lists:seq(1, 10)],
        {ok, Last} = lockkeeper_canal:open(Name),
        await(fun() -> erlang:garbage_collect(), 1 =:= maps:get(processes_in, lockkeeper_canal:info(Last)) end),
        ?assertEqual(0, maps:get(keys_held, lockkeeper_canal:info(Last))),
        ok = lockkeeper_canal:close(Last),
        ok = lockkeeper_canal:remove(Name)
    end}.

%% The node's region is a literal, which the runtime frees when it is replaced.
stop_while_used_test_() ->
    {timeout, 600, fun() ->
        Name = name(),
        Use = fun Use(N) ->
                  try lockkeeper_canal:acquire(N rem 5, 3, 1), lockkeeper_canal:info() catch error:not_started -> ok end,
                  Use(N + 1)
              end,
        Pids = [spawn(fun() -> Use(N) end) || N <- lists:seq(1, 10)],
        [begin ok = lockkeeper_canal:start(Name), erlang:yield(), ok = lockkeeper_canal:stop() end
         || _ <- lists:seq(1, 100)],
        [kill(Pid) || Pid <- Pids],
        {ok, Last} = lockkeeper_canal:open(Name),
        await(fun() -> maps:get(processes_in, lockkeeper_canal:info(Last)) =:= 1 end),
        ?assertEqual(0, maps:get(keys_held, lockkeeper_canal:info(Last))),
        ok = lockkeeper_canal:close(Last),
        ok = lockkeeper_canal:remove(Name)
    end}.

%% A handle that is collected ends no permit of a living process.
forgotten_handle_test_() ->
    {timeout, 600, fun() ->
        in_region(fun(Name, Region) ->
            Pid = helper(),
            call(Pid, fun() -> {ok, Forgotten} = lockkeeper_canal:open(Name),
                               {acquired, 1} = lockkeeper_canal:acquire(Forgotten, k, 1, 1),
                               ok end),
            call(Pid, fun() -> erlang:garbage_collect() end),
            ?assertEqual({full, 2}, {lockkeeper_canal:acquire(Region, k, 1, 1),
                                     maps:get(processes_in, lockkeeper_canal:info(Region))}),
            kill(Pid),
            await(fun() -> lockkeeper_canal:acquire(Region, k, 1, 1) =:= {acquired, 1} end),
            await(fun() -> maps:get(processes_in, lockkeeper_canal:info(Region)) =:= 1 end)
        end)
    end}.

%% ---- the short name ------------------------------------------------------------------------------

%% It is built only where it is wanted: the application does not have it.
alias_test() ->
    Exported = fun(Module) -> lists:sort(Module:module_info(exports)) end,
    ?assertEqual([], Exported(lockkeeper_canal) -- Exported(canal)),
    ?assertEqual([], Exported(canal) -- Exported(lockkeeper_canal)),
    {file, File} = code:is_loaded(canal),
    ?assertNotEqual(filename:dirname(code:which(lockkeeper_canal)), filename:dirname(File)),
    in_region(fun(_, Region) ->
        ?assertEqual({acquired, 1}, canal:acquire(Region, k, 1, 1)),
        ?assertEqual(1, lockkeeper_canal:count(Region, k)),
        ?assertEqual(ok, canal:release(Region, k))
    end).

%% ---- other programs ------------------------------------------------------------------------------

%% A binary is the same key for `lk`.
other_language_test_() ->
    {timeout, 600, fun() ->
        in_region(fun(Name, Region) ->
            Try = fun(Key) ->
                      os:cmd(lists:concat(["\"$LK\" run -S shm:", Name, " --limit 2 --try ", Key,
                                           " -- echo ran 2>&1; echo $?"]))
                  end,
            [{acquired, _} = lockkeeper_canal:acquire(Region, Key, 2, 1) || Key <- [<<"db">>, <<"db">>, db]],
            ?assertMatch({_, "75\n"}, lists:split(length(Try("db")) - 3, Try("db"))),
            ok = lockkeeper_canal:release(Region, <<"db">>),
            ?assertEqual("ran\n0\n", Try("db"))
        end)
    end}.

%% What another virtual machine of these tests runs.
hold_and_wait([Name]) ->
    {ok, Region} = lockkeeper_canal:open(Name),
    Self = self(),
    [spawn(fun() -> Self ! lockkeeper_canal:acquire(Region, <<"shared">>, 100, 1), receive stop -> ok end end)
     || _ <- lists:seq(1, 100)],
    [receive {acquired, _} -> ok end || _ <- lists:seq(1, 100)],
    full = lockkeeper_canal:acquire(Region, <<"shared">>, 100, 1),
    io:format("held~n"),
    receive stop -> ok end.

kill_9_test_() ->
    {timeout, 600, fun() ->
        in_region(fun(Name, Region) ->
            Paths = lists:append([["-pa", Path] || Path <- code:get_path(), filename:pathtype(Path) =:= absolute,
                                                   filename:basename(Path) =:= "ebin"]),
            Here = filename:dirname(code:which(?MODULE)),
            Port = open_port({spawn_executable, os:find_executable("erl")},
                             [{args, ["-noshell", "-pa", Here] ++ Paths ++
                                     ["-run", atom_to_list(?MODULE), "hold_and_wait", Name]},
                              {line, 1000}, exit_status]),
            receive {Port, {data, {eol, Line}}} -> ?assertEqual("held", Line)
            after ?PATIENCE_MS -> error(no_other) end,
            ?assertEqual(full, lockkeeper_canal:acquire(Region, <<"shared">>, 100, 1)),
            {os_pid, Pid} = erlang:port_info(Port, os_pid),
            os:cmd("kill -9 " ++ integer_to_list(Pid)),
            receive {Port, {exit_status, _}} -> ok after ?PATIENCE_MS -> error(alive) end,
            await(fun() -> lockkeeper_canal:acquire(Region, <<"shared">>, 1, 1) =:= {acquired, 1} end)
        end)
    end}.

%% ---- other code ----------------------------------------------------------------------------------

%% The module is loaded again, twice, while permits are held: they stay, and end as ever.
upgrade_test_() ->
    {timeout, 600, fun() ->
        in_region(fun(_, Region) ->
            Pid = helper(),
            {acquired, 1} = call(Pid, fun() -> apply(lockkeeper_canal, acquire, [Region, k, 2, 1]) end),
            [begin
                 code:purge(lockkeeper_canal),
                 {module, lockkeeper_canal} = code:load_file(lockkeeper_canal),
                 ?assertEqual(ok, call(Pid, fun() -> apply(lockkeeper_canal, release, [Region, k]) end)),
                 ?assertEqual({acquired, 1}, call(Pid, fun() -> apply(lockkeeper_canal, acquire, [Region, k, 1, 1]) end)),
                 ?assertEqual(full, apply(lockkeeper_canal, acquire, [Region, k, 1, 1]))
             end || _ <- [1, 2]],
            code:purge(lockkeeper_canal),
            kill(Pid),
            await(fun() -> apply(lockkeeper_canal, count, [Region, k]) =:= 0 end)
        end)
    end}.

%% The module is removed while permits are held: they end with their processes.
unload_test_() ->
    {timeout, 600, fun() ->
        Name = name(),
        {ok, Region} = apply(lockkeeper_canal, open, [Name]),
        [Stays, Dies] = [helper(), helper()],
        [{acquired, _} = call(P, fun() -> apply(lockkeeper_canal, acquire, [Region, k, 2, 1]) end)
         || P <- [Stays, Dies]],
        code:purge(lockkeeper_canal),
        true = code:delete(lockkeeper_canal),
        code:purge(lockkeeper_canal),
        ?assertNot(erlang:check_old_code(lockkeeper_canal)),
        kill(Dies),
        {module, lockkeeper_canal} = code:load_file(lockkeeper_canal),
        %% The handle is one of the library that is gone.
        ?assertError(badarg, apply(lockkeeper_canal, count, [Region, k])),
        {ok, Again} = apply(lockkeeper_canal, open, [Name]),
        await(fun() -> apply(lockkeeper_canal, count, [Again, k]) =:= 1 end),
        kill(Stays),
        await(fun() -> apply(lockkeeper_canal, count, [Again, k]) =:= 0 end),
        ok = apply(lockkeeper_canal, close, [Again]),
        ok = apply(lockkeeper_canal, remove, [Name])
    end}.
