/** Limits: configuration of data planes. */
import { KiB, MiB } from './units.ts';

export const planeConfig = {
  planeConfigBytes: 8 * MiB,
  planeConfigValues: 2_000_000,
  planeConfigDepth: 96,
  planeConfigPartChars: 64 * KiB,
  planeConfigParts: 256,
  planeConfigBodyBytes: 17 * MiB,
  planeConfigCacheBytes: 64 * MiB,
  configIntervalSeconds: 300,
  configIntervalLeastSeconds: 10,
  /** Of `config.maxAgeSeconds`. */
  configAgeLeastSeconds: 60,
  configAgeMostSeconds: 366 * 24 * 3600,
} as const;
