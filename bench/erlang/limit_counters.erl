%% SPDX-License-Identifier: Apache-2.0
%% The peer of src/canal in Erlang, for the benchmark: limits as counters in an ETS table, one for
%% each resource (a bucket), and a manager process that monitors those who hold.
%%
%% Acquiring counts up the buckets from the first on, up to a limit that shows an overflow, and then
%% tells the manager. Releasing goes through the manager, which counts the last bucket in use down.
%%
%% Instead of these counters (ets) it can play the binding (canal), in a region of its own.
%%
%% It is asked for rounds by lines (bench/companion.h):
%%
%%     erl -noshell -pa DIR -s limit_counters main ets|canal PROCESSES KEYS ROUNDS
-module(limit_counters).
-export([main/1]).

-define(TABLE, counters).
-define(TRIES, 10).

main([Counters, Processes, Keys, Rounds]) ->
    N = atom_to_integer(Processes),
    K = atom_to_integer(Keys),
    R = atom_to_integer(Rounds),
    Work = prepare(Counters, N * K),
    [Work(Key, 100) || Key <- lists:seq(0, N * K - 1)],
    io:format("ready~n"),
    serve(Work, N, K, R),
    Counters =:= canal andalso lockkeeper_canal:remove(region()),
    halt(0).

prepare(ets, _) ->
    ets:new(?TABLE, [named_table, public, set, {write_concurrency, true}]),
    Manager = spawn_link(fun() -> manage(#{}) end),
    register(manager, Manager),
    fun work/2;
prepare(canal, Keys) ->
    ok = lockkeeper_canal:start(region(), #{keys => max(Keys, 4096)}),
    fun(Key, MaxPer) ->
        {acquired, _} = lockkeeper_canal:acquire(Key, MaxPer, 1),
        ok = lockkeeper_canal:release(Key)
    end.

region() ->
    "bench.erlang." ++ os:getpid().

%% A round for each line of input.
serve(Work, N, K, R) ->
    case io:get_line("") of
        eof ->
            ok;
        _ ->
            io:format("~w~n", [play(Work, N, K, R)]),
            serve(Work, N, K, R)
    end.

%% Nanoseconds for each acquire and release of one process.
play(Work, N, K, R) ->
    Self = self(),
    Began = erlang:monotonic_time(nanosecond),
    Workers = [spawn_link(fun() -> go_over(Work, W, K, R), Self ! {done, self()} end)
               || W <- lists:seq(0, N - 1)],
    [receive {done, Worker} -> ok end || Worker <- Workers],
    (erlang:monotonic_time(nanosecond) - Began) / R.

atom_to_integer(Atom) ->
    list_to_integer(atom_to_list(Atom)).

%% Each worker goes over keys of its own.
go_over(_, _, _, 0) ->
    ok;
go_over(Work, Worker, Keys, Rounds) ->
    Work(Worker * Keys + (Rounds * 7919) rem Keys, 100),
    go_over(Work, Worker, Keys, Rounds - 1).

work(Key, MaxPer) ->
    {acquired, _} = acquire(Key, MaxPer, 1),
    ok = release(Key, MaxPer).

acquire(Key, MaxPer, Resources) ->
    acquire(Key, 1, MaxPer, Resources).

acquire(_, Bucket, _, Resources) when Bucket > Resources ->
    full;
acquire(Key, Bucket, MaxPer, Resources) ->
    try ets:update_counter(?TABLE, {Key, Bucket}, {2, 1, MaxPer + 1, MaxPer + 1}) of
        Count when Count =< MaxPer ->
            manager ! {acquired, Key, self()},
            {acquired, (Bucket - 1) * MaxPer + Count};
        _ ->
            acquire(Key, Bucket + 1, MaxPer, Resources)
    catch
        error:badarg ->
            ets:insert_new(?TABLE, {{Key, Bucket}, 0}),
            ets:insert(?TABLE, {{Key, highest}, Bucket}),
            acquire(Key, Bucket, MaxPer, Resources)
    end.

release(Key, MaxPer) ->
    Reference = make_ref(),
    manager ! {release, Key, MaxPer, self(), Reference},
    receive
        {Reference, Answer} -> Answer
    end.

%% Pid and key to the monitors of what is held there, one for each.
manage(Held) ->
    receive
        {acquired, Key, Pid} ->
            Monitor = erlang:monitor(process, Pid),
            manage(maps:update_with({Pid, Key}, fun(Others) -> [Monitor | Others] end, [Monitor],
                                    Held#{Monitor => {Pid, Key}}));
        {release, Key, MaxPer, Pid, Reference} ->
            Answer = count_down(Key, highest(Key), MaxPer),
            Pid ! {Reference, Answer},
            manage(forget(Pid, Key, Held));
        {'DOWN', Monitor, process, Pid, _} ->
            case Held of
                #{Monitor := {Pid, Key}} ->
                    count_down(Key, highest(Key), 100),
                    manage(forget(Pid, Key, Held));
                #{} ->
                    manage(Held)
            end
    end.

forget(Pid, Key, Held) ->
    case Held of
        #{{Pid, Key} := [Monitor]} ->
            erlang:demonitor(Monitor, [flush]),
            maps:remove(Monitor, maps:remove({Pid, Key}, Held));
        #{{Pid, Key} := [Monitor | Others]} ->
            erlang:demonitor(Monitor, [flush]),
            maps:remove(Monitor, Held#{{Pid, Key} := Others});
        #{} ->
            Held
    end.

highest(Key) ->
    [{_, Bucket}] = ets:lookup(?TABLE, {Key, highest}),
    Bucket.

count_down(_, 0, _) ->
    out_of_buckets;
count_down(Key, Bucket, MaxPer) ->
    case ets:update_counter(?TABLE, {Key, Bucket}, {2, -1}) of
        Count when Count < 0 ->
            ets:update_counter(?TABLE, {Key, Bucket}, {2, 1, 0, 0}),
            count_down(Key, Bucket - 1, MaxPer);
        MaxPer ->
            count_again(Key, Bucket, MaxPer, ?TRIES);
        _ ->
            ok
    end.

%% It was over its limit: what was taken back had no holder.
count_again(Key, Bucket, _, 0) ->
    ets:update_counter(?TABLE, {Key, Bucket}, {2, -2}),
    ok;
count_again(Key, Bucket, MaxPer, Tries) ->
    case ets:update_counter(?TABLE, {Key, Bucket}, {2, -1}) of
        MaxPer -> count_again(Key, Bucket, MaxPer, Tries - 1);
        _ -> ok
    end.
