import { join } from 'node:path';
import { expect, it } from 'vitest';
import { publicKeyOf } from '../../../src/cli/approvals/sign.ts';
import { emptyDirectory } from '../support/tool.ts';

it('a missing SSH key is named by its public half, without an error of Node', () => {
  const file = join(emptyDirectory(), 'key');
  expect(() => publicKeyOf(file)).toThrow(`cannot read ${file}.pub: the file does not exist`);
});
