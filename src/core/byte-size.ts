/** Sizes as text for people. Proven by `test/core/byte-size.test.ts`. */

/** `1.5 MiB`, `2.0 GiB` */
export const bytesText = (bytes: number): string =>
  bytes < 2 ** 30 ? `${(bytes / 2 ** 20).toFixed(1)} MiB` : `${(bytes / 2 ** 30).toFixed(1)} GiB`;
