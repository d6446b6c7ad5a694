// SPDX-License-Identifier: Apache-2.0
// Types of lockkeeper. Durations are milliseconds; what has 64 bits is a bigint.
/// <reference types="node" />

export type Bytes = string | ArrayBuffer | ArrayBufferView;
export type Puts = Bytes | {[path: string]: Bytes};
export type Parts = string | readonly string[];

export interface LockOptions {
    /** For every part that names no mode. */
    shared?: boolean;
    limit?: number;
    units?: number;
    /** Then TimeoutError. Without it: for ever; 0: a try. */
    wait?: number;
    /** 50 ms to 366 days; 60 s unless given. */
    ttl?: number;
    /** A fixed end in place of ttl. */
    until?: Date | number;
    owner?: string;
    note?: string;
    /** Return the values of all parts with the grant. */
    value?: boolean;
    /** Services only: the lease also ends with its connection. */
    bound?: boolean;
    /** How long to retry an unreachable store. */
    patience?: number;
    /** A release before leaves the lease held until this long after the grant. */
    atLeast?: number;
    /** Ends the wait, and withdraws the request. */
    signal?: AbortSignal;
}

export type TryOptions = Omit<LockOptions, 'wait'>;

export interface ConvertOptions {
    shared?: boolean;
    limit?: number;
    units?: number;
    ttl?: number;
}

export interface Blocker {
    path: string;
    owner: string;
    /** Of a service with users: whose owner it is. */
    user: string | null;
    note: string | null;
    ticket: bigint;
    held: boolean;
    expiresIn: number;
}

export interface Value {
    data: Buffer | null;
    inDoubt: boolean;
}

export interface Answer {
    outcome: string;
    paths: string[];
    owner: string;
    ticket: bigint;
    token: bigint;
    tokens: bigint[];
    ttl: number;
    /** -1: there is no live request. */
    expiresIn: number;
    inUse: number;
    position: number;
    created: boolean;
    fixed: boolean;
    requeued: boolean;
    blockers: Blocker[];
    cycle: string[];
    values: Value[];
}

export interface Entry {
    path: string;
    owner: string;
    /** Of a service with users: whose owner it is. */
    user: string | null;
    note: string | null;
    ticket: bigint;
    token: bigint;
    held: boolean;
    shared: boolean;
    revoked: boolean;
    limit: number;
    units: number;
    ttl: number;
    expiresIn: number;
    age: number;
    requestIndex: number;
    position: number;
    blockers: Blocker[];
}

export class Lease {
    private constructor();
    /** The fencing token. Pass it to the resource, and let that refuse smaller ones. */
    readonly token: bigint;
    readonly tokens: bigint[];
    readonly owner: string;
    readonly paths: string[];
    readonly values: Value[];
    readonly value: Buffer | null;
    readonly inDoubt: boolean;
    /** Is fulfilled when the lease is found lost; never, if it is released before. */
    readonly lost: Promise<LostError>;
    /** Is aborted when the lease is found lost. */
    readonly signal: AbortSignal;
    readonly isLost: boolean;
    /** For how long the lease is held for certain; 0 when it is lost or has ended. */
    readonly remaining: number;
    /** Throws LostError unless the lease is held. */
    check(): void;
    /** UnavailableError: unknown whether it has ended; to call it again asks again. */
    release(options?: {put?: Puts; now?: boolean}): Promise<void>;
    /** Stops the keep-alive: the lease ends at its deadline. */
    abandon(): Promise<void>;
    put(value: Bytes, path?: string): Promise<void>;
    convert(options?: ConvertOptions): Promise<void>;
    convert(parts: Parts, options?: ConvertOptions): Promise<void>;
    /** `await using` with a lease that has ended throws LostError before the block. */
    [Symbol.asyncDispose](): Promise<void>;
}

export interface Table {
    name: string;
    id?: string;
    where?: string;
    order?: string;
    done?: string;
}

export interface WorkOptions {
    ttl?: number;
    maxAttempts?: number;
    note?: string;
    retryMin?: number;
    retryMax?: number;
    /** End when nothing is left. */
    drain?: boolean;
    patience?: number;
    table?: Table;
    /** Ends the claiming. The handler that runs decides on its item. */
    signal?: AbortSignal;
}

export interface WorkCounts {
    claims: number;
    steals: number;
    done: number;
    retried: number;
    parked: number;
    lost: number;
    unknown: number;
    announced: number;
    duplicates: number;
    left: number;
    skipped: number;
}

export class Item {
    private constructor();
    readonly queue: string;
    readonly id: string;
    readonly value: Buffer | null;
    readonly token: bigint;
    readonly attempt: number;
    readonly isStolen: boolean;
    readonly owner: string;
    readonly rowId: string | null;
    /** For how long the claim is held for certain; 0 when it is lost or has ended. */
    readonly remaining: number;
    /** Is fulfilled when the claim is lost (LostError), or its work is closed under its handler (ClosedError). */
    readonly lost: Promise<LostError | ClosedError>;
    /** Is aborted then, with that error. */
    readonly signal: AbortSignal;
    readonly isLost: boolean;
    /** Throws LostError if the claim is lost. */
    check(): void;
    /** Says how far the work is, in up to 1024 bytes, which listings show; null: no more. */
    progress(text: Bytes | null): Promise<void>;
    /** The item is done and removed, or kept with its result. If the store refuses that, the item has failed.
     * UnavailableError, of this and the next three: unknown whether it took effect; to call one again asks again. */
    done(result?: Bytes | null, options?: KeepOptions): Promise<void>;
    /** Gives the item back: it has not failed, and the attempt does not count. */
    giveBack(): Promise<void>;
    /** It has failed; again later, after `delay` if that is given. `uncounted`: not now; the attempt does
     * not count, and the item is not parked. */
    retry(why?: Error | Bytes, options?: Omit<RetryOptions, 'error' | 'park'>): Promise<void>;
    /** It cannot succeed: it is parked, whatever its attempts, until it is unparked. */
    park(why?: Error | Bytes, options?: {exitCode?: number}): Promise<void>;
}

/** Of store.claim(). */
export interface ClaimOptions {
    /** How long to wait for an item. 0, which it is unless given: not at all; Infinity: for ever. */
    wait?: number;
    /** 50 ms to 366 days; 60 s unless given. */
    ttl?: number;
    /** Of the claim; without it, each call has one of its own. */
    owner?: string;
    /** After this many attempts an item is parked. */
    maxAttempts?: number;
    note?: string;
    /** How long to retry an unreachable store. */
    patience?: number;
    /** Rows that are items already: that of the claim still matches. Claim.done() runs the table's `done`. */
    table?: Table;
    /** Ends the wait; an item that it had claimed by then is given back. */
    signal?: AbortSignal;
}

export interface RetryOptions {
    /** Not claimed again before this time has passed; 0 unless given. */
    delay?: number;
    /** Why it has failed: up to 1024 bytes, which are kept with the item; of an Error, its beginning. */
    error?: Error | Bytes;
    exitCode?: number;
    /** The attempt does not count, and the item is not parked: it was stopped, or cannot be done now. */
    uncounted?: boolean;
    /** The item is parked, whatever its attempts: its work cannot succeed. There is no delay then. */
    park?: boolean;
}

/** Of an item that is done. */
export interface KeepOptions {
    /** For how long it is kept with its result; or as long as its push says, if that is longer. */
    keep?: number;
}

/** Whose claim to end. */
export interface ClaimEnd {
    owner: string;
    /** Without it: whatever token the owner's claim has. */
    token?: bigint | number;
}

/** An item that was claimed by hand. Only renew() keeps the claim beyond its deadline. */
export class Claim {
    private constructor();
    readonly queue: string;
    readonly id: string;
    readonly value: Buffer | null;
    /** The claim's fencing token. */
    readonly token: bigint;
    /** 1: the first. */
    readonly attempt: number;
    /** Its former claim was lost. */
    readonly isStolen: boolean;
    readonly owner: string;
    readonly rowId: string | null;
    readonly ttl: number;
    /** How long the claim may be relied on; 0: its deadline has passed. An administrator may end it before. */
    readonly remaining: number;
    /** Moves the deadline to `ttl` from now on, the claim's own unless given. LostError: it was lost. */
    renew(options?: {ttl?: number}): Promise<Answer>;
    /** The item is done and removed, or kept with its result. LostError: the claim was lost, and the item stays. */
    done(result?: Bytes | null, options?: KeepOptions): Promise<void>;
    /** Says how far the work is, in up to 1024 bytes, which listings show; null: no more. */
    progress(text: Bytes | null): Promise<void>;
    /** Gives the item back, to be claimed again after `delay`; or it is parked. */
    retry(options?: RetryOptions): Promise<void>;
}

export class Work implements AsyncIterableIterator<Item> {
    private constructor();
    readonly counts: WorkCounts;
    /** To ask for the next item says that the present one is done. */
    next(): Promise<IteratorResult<Item, undefined>>;
    return(value?: undefined): Promise<IteratorResult<Item, undefined>>;
    /** Claims no more; the loop ends with its next turn, and decides on the item that it has. */
    stop(): void;
    /** Gives the present item back. A handler that works on it is told by the item's signal before. */
    close(): Promise<void>;
    [Symbol.asyncIterator](): this;
    [Symbol.asyncDispose](): Promise<void>;
}

export interface WatchEvent {
    kind: string;
    refusal: string | null;
    sequence: bigint;
    /** Unix time in milliseconds. */
    at: number;
    paths: string[];
    parts: string[];
    owner: string | null;
    /** Of a service with users: whose owner it is. */
    user: string | null;
    note: string | null;
    ticket: bigint;
    token: bigint;
    queue: string | null;
    id: string | null;
    attempt: number;
    isDeletion: boolean;
    by: string | null;
    reason: string | null;
}

export class Watch implements AsyncIterableIterator<WatchEvent> {
    private constructor();
    readonly position: bigint;
    next(): Promise<IteratorResult<WatchEvent, undefined>>;
    /** null: there was none within `wait`. */
    take(options?: {wait?: number; signal?: AbortSignal}): Promise<WatchEvent | null>;
    return(value?: undefined): Promise<IteratorResult<WatchEvent, undefined>>;
    close(): Promise<void>;
    [Symbol.asyncIterator](): this;
    [Symbol.asyncDispose](): Promise<void>;
}

export interface PushOptions {
    delay?: number;
    needs?: Parts;
    priority?: number;
    /** An item that is there gets this value, priority, delay and needs, also if it is parked; if it is claimed,
     * it is worked on once more when the claim ends. */
    again?: boolean;
    /** The same, but only for an item that waits to be claimed. Not both. */
    replace?: boolean;
    /** For how long the item is kept with its result once it is done; up to 366 days; 0 unless given: not. */
    keep?: number;
}

/** Of store.pushItem(). */
export interface PushResult {
    added: boolean;
    /** The item that was there has what the push said. */
    changed: boolean;
    /** The state that it was in; null: added. */
    was: ItemState | null;
}

/** 'again': claimed, and new work when the claim ends; 'cancelled': claimed, and removed when the claim ends;
 * 'done': kept with its result, which is its value, until it is forgotten (`dueIn`). */
export type ItemState = 'ready' | 'delayed' | 'claimed' | 'again' | 'parked' | 'cancelled' | 'done';

export interface ItemInfo {
    id: string;
    owner: string | null;
    /** Of a service with users: whose owner it is. */
    user: string | null;
    value: Buffer | null;
    state: ItemState;
    attempts: number;
    dueIn: number;
    expiresIn: number;
    needs: string[];
    priority: number;
    lastExit: number | null;
    lastError: Buffer | null;
    /** Of its last claim. */
    progress: Buffer | null;
}

export interface QueueStats {
    pushed: number;
    duplicates: number;
    claims: number;
    steals: number;
    done: number;
    retried: number;
    parked: number;
    readyNow: number;
    delayedNow: number;
    claimedNow: number;
    parkedNow: number;
    /** Kept with their results. */
    doneNow: number;
    /** For how many milliseconds the oldest ready item has been; -1: none is. */
    oldestReady: number;
}

export interface Limits {
    live: number;
    livePerOwner: number;
    livePerRoot: number;
    waitersPerPath: number;
    events: number;
}

export interface Report {
    text: string;
    warnings: string[];
    roundTrip: number;
    clockOffset: number;
}

export class Store {
    private constructor();
    readonly url: string;
    readonly closed: boolean;
    /** For how long the store has not answered; 0 while it does. */
    readonly away: number;
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;

    /**
     * DeadlockError: without `wait`, for the lease of a scope of `with()` around the call. What a scope begins
     * and does not wait for, such as a timer, is inside, too: give it a `wait`, or begin it outside.
     */
    lock(parts: Parts, options?: LockOptions): Promise<Lease>;
    /** null: another owner is in the way. */
    tryLock(parts: Parts, options?: TryOptions): Promise<Lease | null>;
    with<T>(parts: Parts, call: (lease: Lease) => T | Promise<T>): Promise<T>;
    with<T>(parts: Parts, options: LockOptions, call: (lease: Lease) => T | Promise<T>): Promise<T>;
    ask(parts: Parts, options?: LockOptions & {style?: 'try' | 'queue' | 'wait'}): Promise<Answer>;
    renew(parts: Parts, options?: {owner?: string; token?: bigint | number; ttl?: number}): Promise<Answer>;
    release(parts: Parts, options?: {owner?: string; token?: bigint | number; put?: Puts}): Promise<Answer>;

    read(path: string): Promise<{data: Buffer; inDoubt: boolean} | null>;
    get(path: string): Promise<Buffer | null>;
    put(path: string, value: Bytes, options?: {owner?: string; token?: bigint | number}): Promise<void>;
    del(path: string, options?: {owner?: string; token?: bigint | number}): Promise<void>;
    values(prefix?: string): AsyncGenerator<{path: string; size: number; inDoubt: boolean}>;

    /** false: the queue has an item with this id, which stays as it is unless an option says otherwise. */
    push(queue: string, id: string, value?: Bytes | null, options?: PushOptions): Promise<boolean>;
    /** push(), with what it has found and done. */
    pushItem(queue: string, id: string, value?: Bytes | null, options?: PushOptions): Promise<PushResult>;
    /** `changed`: of the duplicates, by `again` or `replace`, which hold for each item. */
    pushMany(queue: string, items: Iterable<readonly [string, (Bytes | null)?]>,
             options?: Pick<PushOptions, 'again' | 'replace' | 'keep'>):
        Promise<{added: number; duplicates: number; changed: number}>;
    work(queue: string | null | undefined, options?: WorkOptions): Work;
    /** All handlers have ended when it returns or throws. */
    runWorkers(queue: string | null, handle: (item: Item) => unknown,
               options?: WorkOptions & {workers?: number}): Promise<WorkCounts>;
    /** null: there was no item to claim. Nothing renews the claim by itself. */
    claim(queue: string | null | undefined, options?: ClaimOptions): Promise<Claim | null>;
    /** Up to `max` items (1 to 256) in one step; []: there was none. One owner and one token. */
    claimMany(queue: string, max: number, options?: Omit<ClaimOptions, 'table'>): Promise<Claim[]>;
    /** Ends a claim by its owner and token, of whichever process, and removes the item. Can be repeated. */
    done(queue: string, id: string,
         options: ClaimEnd & KeepOptions & {table?: Table; result?: Bytes | null}): Promise<void>;
    /** Says how far the work on a claimed item is, as Claim.progress() does. */
    progress(queue: string, id: string, text: Bytes | null, options: ClaimEnd): Promise<void>;
    /** Up to 1000 in one step. Returns how many are done: fewer than were named if some were lost. */
    doneMany(queue: string, ids: readonly string[], options: ClaimEnd): Promise<number>;
    retry(queue: string, id: string, options: ClaimEnd & RetryOptions): Promise<void>;
    items(queue: string): Promise<ItemInfo[]>;
    /** null: there is none, or it was done and is not kept any more. */
    item(queue: string, id: string): Promise<ItemInfo | null>;
    /** Waits until the item is done, and returns its result; null: it was done without one. The push or the done
     * must keep it. `wait`: then TimeoutError; 0: looks once; for ever unless given. ItemParkedError: it is parked.
     * NoItemError: it was done and is not kept (any more), dropped or cancelled, or never was. */
    result(queue: string, id: string, options?: {wait?: number; signal?: AbortSignal}): Promise<Buffer | null>;
    stats(queue: string): Promise<QueueStats>;
    queues(prefix?: string): Promise<(QueueStats & {queue: string})[]>;
    unpark(queue: string, id?: string): Promise<number>;
    drop(queue: string, ...ids: string[]): Promise<number>;
    /** Removes an item for good; one that is claimed is 'cancelled', and removed when its claim, which is revoked,
     * ends. Returns whether it was claimed. `atOnce`: ends the claim now, unsafe while its worker may still be at
     * it. LostError: there is no such item. */
    cancel(queue: string, id: string, options: {reason: string; by: string; atOnce?: boolean}): Promise<boolean>;

    watch(prefix?: string | null, options?: {after?: bigint | number; signal?: AbortSignal}): Promise<Watch>;

    list(prefix?: string): Promise<Entry[]>;
    show(path: string): Promise<Entry[]>;
    break(path: string, options: {reason: string; by: string; owner?: string; atOnce?: boolean}): Promise<number>;
    limits(): Promise<Limits>;
    setLimits(bounds: Partial<Limits>): Promise<void>;
    examine(): Promise<Report>;
    backup(path: string): Promise<void>;
}

/** Opens a store by its URL; without one, the store that lk uses. */
export function open(url?: string | null): Promise<Store>;
export const version: string;

export class LockkeeperError extends Error {
    readonly outcome: string;
    readonly code: string;
    readonly blockers: Blocker[];
    readonly cycle: string[];
}
export class BusyError extends LockkeeperError {}
export class TimeoutError extends LockkeeperError {}
export class LostError extends LockkeeperError {}
export class DeadlockError extends LockkeeperError {}
export class InvalidError extends LockkeeperError {}
export class DeniedError extends LockkeeperError {}
export class FullError extends LockkeeperError {}
export class UnsupportedError extends LockkeeperError {}
export class UnavailableError extends LockkeeperError {}
export class InternalError extends LockkeeperError {}
/** There is no item whose result could come. */
export class NoItemError extends LockkeeperError {}
export class CancelledError extends LockkeeperError {}
/** The item whose result was awaited is parked; the message says why. */
export class ItemParkedError extends LockkeeperError {
    readonly item: ItemInfo;
}
export class ClosedError extends Error {
    readonly code: 'LK_CLOSED';
}
