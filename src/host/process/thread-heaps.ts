/**
 * The reset of V8's young generation size for new threads. `bin/gov` bounds the young generation of a server's main
 * thread. V8 applies that flag to every thread and ignores `resourceLimits`, unless the flag is reset after the
 * main thread has its heap. V8 reads the flag only when it creates a heap. Proven by
 * `test/host/process/thread-heaps.test.ts`.
 */
import { setFlagsFromString } from 'node:v8';

/** From now on a new thread gets the heap size of its own `resourceLimits`. */
export function boundThreadsAlone(): void {
  setFlagsFromString('--max-semi-space-size=0');
}
