/** Pictures decoded and encoded again, by the codecs that a checkout has in its packages. */
import { expect, it } from 'vitest';
import { readPicture } from '../../../src/core/picture.ts';
import { asPng } from '../../../src/host/pictures/codecs.ts';
import { jpeg, png, webpLossy, webpOf, webpParts } from '../../support/pictures.ts';

it.each([
  ['png', png(16, 8)],
  ['jpeg', jpeg],
  ['webp', webpLossy],
  ['webp', webpOf([webpParts.canvas, webpParts.plainAlpha, webpParts.frame])],
] as const)('a %s becomes a PNG of the same size', async (kind, bytes) => {
  const made = await asPng(kind, bytes);
  expect(readPicture(made)).toEqual({ kind: 'png', width: 16, height: 8 });
});

it('a damaged picture is refused, and the next one decodes', async () => {
  const damaged = png(16, 8, [['IDAT', Buffer.from('no deflated rows')]]);
  await expect(asPng('png', damaged)).rejects.toThrow();
  await expect(asPng('jpeg', Buffer.concat([jpeg.subarray(0, 300), Buffer.alloc(50)]))).rejects.toThrow();
  await expect(asPng('webp', Buffer.alloc(60))).rejects.toThrow();
  expect((await asPng('png', png(3, 2))).length).toBeGreaterThan(50);
});

it('comments of a picture are not in the PNG', async () => {
  const secret = 'taken at 47.37 N 8.54 E';
  const made = await asPng('png', png(16, 8, [['tEXt', Buffer.from(`Comment\0${secret}`)]]));
  expect(Buffer.from(made).includes(secret)).toBe(false);
});
