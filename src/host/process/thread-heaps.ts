/**
 * The young generation that the command line bounds (`bin/gov`) is that of the main thread: V8 gives the same to every
 * thread, whatever its `resourceLimits` say, unless the bound is taken back once the main thread has its heap. It is read
 * when a heap is made, and at no other time. Proven by `test/host/process/thread-heaps.test.ts`.
 */
import { setFlagsFromString } from 'node:v8';

/** From now on a thread has the heap that it is started with. */
export function boundThreadsAlone(): void {
  setFlagsFromString('--min-semi-space-size=0');
  setFlagsFromString('--max-semi-space-size=0');
}
