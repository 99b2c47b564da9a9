/** Limits: requests. */
import { KiB, MiB } from './units.ts';

export const requests = {
  bodyBytes: 1 * MiB,
  batchBodyBytes: 16 * MiB,
  graphBodyBytes: 8 * MiB,
  jsonDepth: 32,
  jsonValues: 20_000,
  jsonValuesLarge: 200_000,
  memberNameChars: 256,
  stringBytes: 256 * KiB,
  urlBytes: 8 * KiB,
  headerBytes: 16 * KiB,
  headerCount: 100,
} as const;
