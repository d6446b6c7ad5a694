// SPDX-License-Identifier: Apache-2.0
// Types of index.mjs: the same names, which index.d.ts declares for require(), and all of them as the default.
export * from './index.js';
declare const lockkeeper: typeof import('./index.js');
export default lockkeeper;
