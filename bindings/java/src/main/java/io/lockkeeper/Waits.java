// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import com.sun.jna.Pointer;
import io.lockkeeper.internal.Functions;
import java.lang.ref.Cleaner;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Threads of the binding. A call in C cannot be interrupted, so one that may wait runs in a thread
 * of its own, and what interrupts its caller cancels it. What the collector finds, and what the
 * library's threads report, is left to other threads, too: neither may block.
 */
final class Waits {
    static final Cleaner CLEANER = Cleaner.create();

    private static final ExecutorService THREADS = Executors.newCachedThreadPool(work -> {
        Thread thread = new Thread(work, "lockkeeper");
        thread.setDaemon(true);
        return thread;
    });

    private Waits() {}

    static void post(Runnable work) {
        THREADS.execute(work);
    }

    /** A lk_cancel. now() may come at any time, also after free(). */
    static final class Cancel {
        private Pointer handle = Functions.LIBRARY.lk_cancel_new();
        private boolean isNow;

        Cancel() {
            if (handle == null) {
                throw new OutOfMemoryError("no memory for a cancellation");
            }
        }

        /** Of a call that has not ended. */
        synchronized Pointer handle() {
            return handle;
        }

        synchronized void now() {
            isNow = true;
            if (handle != null) {
                Functions.LIBRARY.lk_cancel_now(handle);
            }
        }

        synchronized boolean isNow() {
            return isNow;
        }

        /** No wait is using it any more. */
        synchronized void free() {
            Functions.LIBRARY.lk_cancel_free(handle);
            handle = null;
        }
    }

    /**
     * Makes a call that `cancel` ends. An interrupt does so, and the call has ended when this
     * throws: `undo` gets what it returned all the same.
     */
    static <T> T interruptibly(Supplier<T> call, Cancel cancel, Consumer<T> undo)
        throws InterruptedException {
        FutureTask<T> task = new FutureTask<>(call::get);
        post(task);
        try {
            return result(task);
        } catch (InterruptedException interrupt) {
            cancel.now();
            finish(task, undo);
            throw interrupt;
        }
    }

    /**
     * Makes the call in a thread of the binding's. Whatever completes the future in another way
     * ends the call: `undo` gets what it returned all the same.
     */
    static <T> CompletableFuture<T> async(Supplier<T> call, Cancel cancel, Consumer<T> undo) {
        CompletableFuture<T> future = new CompletableFuture<>();
        future.whenComplete((answer, error) -> cancel.now());
        post(() -> {
            try {
                T answer = call.get();
                if (!future.complete(answer)) {
                    undo.accept(answer);
                }
            } catch (RuntimeException | Error error) {
                future.completeExceptionally(error);
            }
        });
        return future;
    }

    private static <T> T result(FutureTask<T> task) throws InterruptedException {
        try {
            return task.get();
        } catch (ExecutionException error) {
            Throwable cause = error.getCause();
            // The caller's place says more than that of the binding's thread.
            cause.setStackTrace(Thread.currentThread().getStackTrace());
            if (cause instanceof Error) {
                throw (Error) cause;
            }
            throw (RuntimeException) cause;
        }
    }

    private static <T> void finish(FutureTask<T> task, Consumer<T> undo) {
        boolean isInterrupted = false;
        while (true) {
            try {
                undo.accept(result(task));
                break;
            } catch (InterruptedException again) {
                isInterrupted = true;
            } catch (RuntimeException withdrawn) {
                break;
            }
        }
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
