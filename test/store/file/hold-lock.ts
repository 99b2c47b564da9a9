/** A process that takes the lock at its first argument, says so, and holds it until it is killed. */
import { takeLock } from '../../../src/store/file/lock.ts';

takeLock(process.argv[2] ?? '', process.pid);
process.stdout.write('held\n');
setInterval(() => undefined, 1000);
