// SPDX-License-Identifier: Apache-2.0
import lockkeeper from './index.js';

export const {
    open, version, Store, Lease, Work, Item, Claim, Watch, LockkeeperError, BusyError, TimeoutError,
    LostError, DeadlockError, InvalidError, DeniedError, FullError, UnsupportedError, UnavailableError,
    InternalError, NoItemError, CancelledError, ItemParkedError, ClosedError,
} = lockkeeper;
export default lockkeeper;
