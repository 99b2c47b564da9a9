/** There is no disk: an `EventRecorder` keeps events in memory. Tested by `test/client/web/edge.test.ts`. */
import type { Disk } from '../sending/disk.ts';

export function openDisk(): Disk {
  throw new TypeError('expected Node for the option spool, got another runtime');
}
