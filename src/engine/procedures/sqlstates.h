/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SQLSTATEs by which the procedures end a transaction that the engine has begun (R17). The SQL
 * has their names from here (src/model/constants.py).
 */
#ifndef LK_ENGINE_PROCEDURES_SQLSTATES_H
#define LK_ENGINE_PROCEDURES_SQLSTATES_H

#define LK_SQLSTATE_REPEATED "LK001"   /* the same call has ended the claim before (R3) */
#define LK_SQLSTATE_LOST "LK002"       /* the claim is lost */
#define LK_SQLSTATE_COMMITTED "LK003"  /* the owner's statement has ended the transaction */
#define LK_SQLSTATE_NOT_SIMPLE "LK004" /* the short way does not reach a decision */

#endif
