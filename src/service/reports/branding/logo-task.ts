/** Task: a picture as PNG, decoded and encoded again. Proven by `test/service/reports/branding.test.ts`. */
import { readPicture } from '../../../core/picture.ts';
import { fieldError } from '../../call/schema.ts';
import type { Task } from '../../call/work.ts';

/** VALIDATION_ERROR for bytes that no decoder accepts. */
export const logo: Task<'logo'> = async ({ local }, { bytes }) => {
  const picture = readPicture(bytes);
  if ('fault' in picture) throw notDecodable();
  if (local === undefined) throw new Error('expected a thread with codecs');
  try {
    return await local.asPng(picture.kind, bytes);
  } catch (cause) {
    throw Object.assign(notDecodable(), { cause });
  }
};

const notDecodable = () =>
  fieldError({
    pointer: '/file',
    in: 'body',
    code: 'BAD_FORMAT',
    detail: 'expected a picture that decodes, got a damaged one',
  });
