%% SPDX-License-Identifier: Apache-2.0
%% @doc lockkeeper_canal by a short name. Not a part of the application: Hex has another `canal`, and a
%% node has room for one. Where nothing else has the name, compile this file, too (README.md).
-module(canal).

-compile(nowarn_missing_spec).
-export([start/1, start/2, stop/0]).
-export([acquire/3, release/1, release/3, count/1, info/0]).
-export([open/1, open/2, close/1, remove/1]).
-export([acquire/4, release/2, count/2, info/1]).

start(Name) -> lockkeeper_canal:start(Name).
start(Name, Options) -> lockkeeper_canal:start(Name, Options).
stop() -> lockkeeper_canal:stop().

acquire(Key, MaxPer, Resources) -> lockkeeper_canal:acquire(Key, MaxPer, Resources).
release(Key) -> lockkeeper_canal:release(Key).
release(Key, MaxPer, Resources) -> lockkeeper_canal:release(Key, MaxPer, Resources).
count(Key) -> lockkeeper_canal:count(Key).
info() -> lockkeeper_canal:info().

open(Name) -> lockkeeper_canal:open(Name).
open(Name, Options) -> lockkeeper_canal:open(Name, Options).
close(Region) -> lockkeeper_canal:close(Region).
remove(Name) -> lockkeeper_canal:remove(Name).

acquire(Region, Key, MaxPer, Resources) -> lockkeeper_canal:acquire(Region, Key, MaxPer, Resources).
release(Region, Key) -> lockkeeper_canal:release(Region, Key).
count(Region, Key) -> lockkeeper_canal:count(Region, Key).
info(Region) -> lockkeeper_canal:info(Region).
