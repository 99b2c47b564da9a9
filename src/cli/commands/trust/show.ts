/** `gov trust show`: reads a file, without network. Tested by `test/cli/commands/trust/fetch.test.ts`. */
import { resolve } from 'node:path';
import { keyIdText } from '../../../core/note/key.ts';
import { usage } from '../../program/exit.ts';
import type { Run } from '../../context/command.ts';
import { safe } from '../../terminal/safe.ts';
import { plainView } from '../../terminal/view.ts';
import { fingerprint, keyLines, readTrust } from '../../trust/read.ts';
import type { trustShow as spec } from '../../specs/prove/trust.ts';

export const run: Run<typeof spec> = async ({ args, out, io, session }) => {
  const file = args.file === undefined ? session.trustFile() : resolve(io.cwd, args.file);
  if (file === undefined)
    throw usage('expected FILE: the context has no trust file', 'gov trust fetch --out FILE');
  const { origin, keys, witnesses, quorum, index } = readTrust(file);
  const shown = [
    ...keys.map((key) => ({ key, from: 'log' })),
    ...witnesses.map((key) => ({ key, from: `witness ${key.name}` })),
    ...(index?.witnesses ?? []).map(({ key, name }) => ({ key, from: `index witness ${name}` })),
  ].map(({ key, from }) => ({
    keyId: keyIdText(key.keyId),
    algorithm: key.algorithm,
    fingerprint: fingerprint(key),
    key: key.text,
    from,
  }));
  const indexQuorum = index?.quorum ?? 0;
  const value = { file, origin, quorum, indexQuorum, keys: shown };
  if (!out.isHuman) return out.one(value, plainView(Object.keys(value)));
  await out.lines([
    safe`${out.styles.bold('log')}     ${origin}`,
    safe`${out.styles.bold('file')}    ${file}`,
    ...keyLines(shown),
    safe`${out.styles.bold('quorum')}  ${quorum === 0 ? 'none' : `${quorum} of ${witnesses.length} witnesses`}`,
    safe`${out.styles.bold('index')}   ${indexQuorum === 0 ? 'none' : `${indexQuorum} of ${index?.witnesses.length ?? 0} index witnesses`}`,
  ]);
};
