/** Refusals of conditions: VALIDATION_ERROR with a JSON pointer. Proven by `test/core/policies/language/parse.test.ts`. */
import { GovError } from '../../../contract/problems.ts';
import { pointerToken } from '../../json/pointer.ts';

export type RefusalCode =
  | 'WRONG_TYPE'
  | 'NOT_ALLOWED'
  | 'UNKNOWN_OPERATOR'
  | 'AMBIGUOUS'
  | 'TOO_FEW'
  | 'TOO_MANY'
  | 'TOO_DEEP'
  | 'TOO_LONG'
  | 'TOO_LARGE';

export function refuse(pointer: string, code: RefusalCode, detail: string): never {
  throw new GovError('VALIDATION_ERROR', `body ${pointer || '/'}: ${detail}`, {
    errors: [{ pointer, in: 'body', code, detail }],
  });
}

/** Returns the pointer of a member below another (RFC 6901 §3). */
export const below = (pointer: string, member: string | number): string =>
  `${pointer}/${pointerToken(String(member))}`;
