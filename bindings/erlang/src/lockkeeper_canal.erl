%% SPDX-License-Identifier: Apache-2.0
%% @doc "At most N at once of a key", counted in shared memory: lockkeeper/canal.h for Erlang.
%%
%% A permit belongs to the Erlang process that acquired it, and ends with it: by an exit or a kill,
%% and by kill -9 of the virtual machine. Any number of processes may hold any number of permits.
%% There is no manager process, and no call waits for another one.
%%
%% A key is any term. A binary of 1 to 64 bytes is that key for programs in other languages, too.
-module(lockkeeper_canal).

-export([start/1, start/2, stop/0]).
-export([acquire/3, release/1, release/3, count/1, info/0]).
-export([open/1, open/2, close/1, remove/1]).
-export([acquire/4, release/2, count/2, info/1]).
-export_type([region/0, name/0, key/0, options/0, reason/0]).

-on_load(load/0).
-nifs([acquire_nif/4, release_nif/2, count_nif/2, open_nif/3, close_nif/1, remove_nif/1,
       info_nif/1]).

-opaque region() :: reference().
%% Without a slash: of /dev/shm/canal.NAME; with one, a file.
-type name() :: unicode:chardata() | atom().
-type key() :: term().
%% Those of canal.h. Capacities count when the region is made.
-type options() :: #{keys => non_neg_integer(),
                     holders => non_neg_integer(),
                     permits => non_neg_integer(),
                     mode => non_neg_integer(),
                     must_exist => boolean(),
                     is_shared => boolean(),
                     label => unicode:chardata()}.
-type reason() :: not_held | no_room | invalid | none | denied | foreign | damaged | system | gone
                | closed | no_memory | no_process.

-define(DEFAULT, {?MODULE, region}).
-define(KEY_BYTES_MAX, 64).
%% The external format of terms has no such tag: no other key begins like this.
-define(DIGEST, 131, 0).

%% ---- the node's region: for programs that need one -----------------------------------------------

-spec start(name()) -> ok | {error, {reason() | already_started, binary()}}.
start(Name) ->
    start(Name, #{}).

%% @doc Opens the region that the functions without a region use in this node.
-spec start(name(), options()) -> ok | {error, {reason() | already_started, binary()}}.
start(Name, Options) ->
    case persistent_term:get(?DEFAULT, none) of
        none ->
            case open(Name, Options) of
                {ok, Region} -> persistent_term:put(?DEFAULT, Region);
                Error -> Error
            end;
        _ ->
            {error, {already_started, <<"this node has a region: lockkeeper_canal:stop() closes it">>}}
    end.

%% @doc Closes it: all permits that this node holds there end.
-spec stop() -> ok.
stop() ->
    case persistent_term:get(?DEFAULT, none) of
        none ->
            ok;
        Region ->
            _ = persistent_term:erase(?DEFAULT),
            close(Region)
    end.

%% @doc Takes a permit of the key, if fewer than MaxPer * Resources are held by all programs.
-spec acquire(key(), non_neg_integer(), non_neg_integer()) ->
          {acquired, pos_integer()} | full | {error, reason()}.
acquire(Key, MaxPer, Resources) ->
    acquire_nif(default(), key(Key), MaxPer, Resources).

%% @doc Gives back a permit of the key that the calling process holds.
-spec release(key()) -> ok | {error, reason()}.
release(Key) ->
    release_nif(default(), key(Key)).

%% @doc The same, for programs that were written for counters with buckets. The numbers are not used.
-spec release(key(), non_neg_integer(), non_neg_integer()) -> ok | {error, reason()}.
release(Key, _MaxPer, _Resources) ->
    release_nif(default(), key(Key)).

%% @doc How many permits of the key are held, by all programs.
-spec count(key()) -> non_neg_integer() | {error, reason()}.
count(Key) ->
    count_nif(default(), key(Key)).

-spec info() -> #{atom() => non_neg_integer()} | {error, reason()}.
info() ->
    info_nif(default()).

%% ---- several regions -----------------------------------------------------------------------------

-spec open(name()) -> {ok, region()} | {error, {reason(), binary()}}.
open(Name) ->
    open(Name, #{}).

%% @doc Opens a region, and makes it if it is not there. It closes when nothing refers to it, and no
%% process holds a permit that it acquired through it.
-spec open(name(), options()) -> {ok, region()} | {error, {reason(), binary()}}.
open(Name, Options) when is_map(Options) ->
    Known = #{keys => 0, holders => 0, permits => 0, mode => 0, must_exist => false,
              is_shared => false, label => atom_to_binary(node())},
    case maps:keys(maps:without(maps:keys(Known), Options)) of
        [] -> ok;
        _ -> error(badarg, [Name, Options])
    end,
    #{keys := Keys, holders := Holders, permits := Permits, mode := Mode, must_exist := MustExist,
      is_shared := IsShared, label := Label} = maps:merge(Known, Options),
    open_nif(text(Name), text(Label), {Keys, Holders, Permits, Mode, MustExist, IsShared});
open(Name, Options) ->
    error(badarg, [Name, Options]).

%% @doc Ends all permits that were acquired through this region, of whatever process. It is not
%% usable any more.
-spec close(region()) -> ok.
close(Region) ->
    close_nif(Region).

%% @doc Removes the name: programs that use the region acquire no more there (gone).
-spec remove(name()) -> ok | {error, reason()}.
remove(Name) ->
    remove_nif(text(Name)).

-spec acquire(region(), key(), non_neg_integer(), non_neg_integer()) ->
          {acquired, pos_integer()} | full | {error, reason()}.
acquire(Region, Key, MaxPer, Resources) ->
    acquire_nif(Region, key(Key), MaxPer, Resources).

-spec release(region(), key()) -> ok | {error, reason()}.
release(Region, Key) ->
    release_nif(Region, key(Key)).

-spec count(region(), key()) -> non_neg_integer() | {error, reason()}.
count(Region, Key) ->
    count_nif(Region, key(Key)).

%% @doc The capacities of the region, and what of them is in use.
-spec info(region()) -> #{atom() => non_neg_integer()} | {error, reason()}.
info(Region) ->
    info_nif(Region).

%% ---- terms ---------------------------------------------------------------------------------------

default() ->
    case persistent_term:get(?DEFAULT, none) of
        none -> error(not_started);
        Region -> Region
    end.

%% Two keys are one if the terms match exactly, as in a map. What does not fit is named by its digest.
key(Key) when is_binary(Key), byte_size(Key) >= 1, byte_size(Key) =< ?KEY_BYTES_MAX ->
    Key;
key(Key) ->
    case term_to_binary(Key, [deterministic, {minor_version, 2}]) of
        Bytes when byte_size(Bytes) =< ?KEY_BYTES_MAX -> Bytes;
        Bytes -> <<?DIGEST, (crypto:hash(sha256, Bytes))/binary>>
    end.

text(Text) when is_atom(Text) ->
    atom_to_binary(Text);
text(Text) ->
    case unicode:characters_to_binary(Text) of
        Bytes when is_binary(Bytes) -> Bytes;
        _ -> error(badarg)
    end.

%% ---- the library ---------------------------------------------------------------------------------

%% Beside the code, as the folders of an application are, also where the code path names no version.
load() ->
    Beam = case code:which(?MODULE) of
               Path when is_list(Path) -> Path;
               _ -> ""
           end,
    Priv = case code:priv_dir(lockkeeper_canal) of
               {error, bad_name} -> filename:join([filename:dirname(Beam), "..", "priv"]);
               Folder -> Folder
           end,
    case erlang:load_nif(filename:join(Priv, "lockkeeper_canal_nif"), 0) of
        {error, {load_failed, Text}} ->
            {error, {load_failed, Text ++ "; install Lockkeeper's libraries (make install), let the linker find "
                                          "them (ldconfig, as root; or LD_LIBRARY_PATH), and compile c_src"}};
        Loaded ->
            Loaded
    end.

acquire_nif(_Region, _Key, _MaxPer, _Resources) -> erlang:nif_error(not_loaded).
release_nif(_Region, _Key) -> erlang:nif_error(not_loaded).
count_nif(_Region, _Key) -> erlang:nif_error(not_loaded).
open_nif(_Name, _Label, _Options) -> erlang:nif_error(not_loaded).
close_nif(_Region) -> erlang:nif_error(not_loaded).
remove_nif(_Name) -> erlang:nif_error(not_loaded).
info_nif(_Region) -> erlang:nif_error(not_loaded).
