/** Sizes as text for people. */
import { expect, it } from 'vitest';
import { bytesText } from '../../src/core/byte-size.ts';

it.each([
  [0, '0.0 MiB'],
  [1.5 * 2 ** 20, '1.5 MiB'],
  [2 ** 30 - 2 ** 20, '1023.0 MiB'],
  [2 ** 30, '1.0 GiB'],
])('bytesText writes %d bytes as %s', (bytes, text) => {
  expect(bytesText(bytes)).toBe(text);
});
