/**
 * `gov auth signup`: shows the keys, or writes them to the file of --out, before any other step can fail. Then it stores
 * them for two contexts.
 * Tested by `test/cli/auth/commands.test.ts`.
 */
import { resolve } from 'node:path';
import type { SignedUp } from '../../../contract/auth.ts';
import { shellWord } from '../../../core/shell-word.ts';
import { idTokenOf } from '../../auth/id-token.ts';
import { keep } from '../../auth/sign-in.ts';
import type { NewContext } from '../../auth/sign-in.ts';
import { checkFree, targetOf } from '../../auth/target.ts';
import type { Target } from '../../auth/target.ts';
import type { Invocation, Run } from '../../context/command.ts';
import type { StoredCredential } from '../../context/credentials.ts';
import { usage } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import { reserveSecretFile } from '../../context/secret-file.ts';
import type { authSignup as spec } from '../../specs/account/auth.ts';
import { plainView } from '../../terminal/view.ts';

type Call = Invocation<typeof spec>;

export const run: Run<typeof spec> = async (call) => {
  const { flags, out, io, settings } = call;
  const target = targetOf(call, nameFor(flags.organization));
  if (target.places.length < 2)
    throw usage(`--base-url: expected an address that ends in /api/v1, got ${target.baseUrl}`);
  checkFree(target.places, 'none', call);
  const file =
    flags.out === undefined ? null : reserveSecretFile(resolve(io.cwd, flags.out), { force: flags.force });
  const body = await signUp(call, target, settings.idempotencyKey).catch((cause: unknown) => {
    file?.cancel();
    throw cause;
  });
  file?.write(`${JSON.stringify(body, null, 2)}\n`);
  await show(call, { body, target });
  const current = await keep(call, keptOf(body, target));
  const names = target.places.map(({ name }) => name);
  const sandbox = target.places.find(({ environment }) => environment === 'sandbox')?.name ?? '';
  const use = names.includes(current)
    ? safe``
    : safe`; to use this service: gov context use ${shellWord(sandbox)}`;
  await out.note(safe`stored as contexts ${names.join(' and ')}; current context: ${current}${use}`);
};

async function signUp(call: Call, target: Target, idempotencyKey: string | undefined): Promise<SignedUp> {
  const { flags, session } = call;
  const idToken = await idTokenOf(await session.clientAt(target.baseUrl, {}), call);
  const client = await session.clientAt(target.baseUrl, { token: idToken });
  const { name, organization: organizationName } = flags;
  return (await client.signUp({ body: { name, organizationName }, idempotencyKey })).body;
}

async function show(
  { flags, out, io }: Call,
  { body, target }: { body: SignedUp; target: Target },
): Promise<void> {
  const { orgId, projectId, apiKeys } = body;
  const contexts = target.places.map(({ name }) => name);
  // the contexts have the keys, so that nothing is lost
  const isShown = flags.out === undefined && (out.settings.tty || flags.showSecret);
  const kept = flags.out === undefined ? {} : { keyFile: resolve(io.cwd, flags.out) };
  const where = isShown ? { apiKeys } : kept;
  const value = { orgId, projectId, ...where, contexts };
  if (!isShown && flags.out === undefined)
    await out.note(
      safe`the keys are not shown, because standard output is no terminal; the contexts have them: gov auth token -C ${shellWord(contexts[0] ?? '')}`,
    );
  if (!out.isHuman) return out.one(value, plainView(Object.keys(value)));
  await out.lines([
    safe`${out.styles.green('signed up')} ${out.styles.bold(flags.organization)} at ${new URL(target.baseUrl).host}`,
    safe`  organization  ${orgId}`,
    safe`  sandbox       project ${projectId}`,
    ...(isShown
      ? [safe`  sandbox key     ${apiKeys.sandbox}`, safe`  production key  ${apiKeys.production}`]
      : [safe`  keys          in ${flags.out ?? contexts.join(' and ')}`]),
  ]);
  if (isShown) await out.note(safe`gov shows the keys only this once`);
}

function keptOf(
  { apiKeys }: SignedUp,
  { places, baseUrl }: Target,
): { found: NewContext[]; credentials: Record<string, StoredCredential> } {
  const { origin } = new URL(baseUrl);
  return {
    found: places.map((place) => ({ place, credential: place.name })),
    credentials: Object.fromEntries(
      places.map(({ name, environment }) => [
        name,
        { kind: 'api_key', token: apiKeys[environment], origin, expiresAt: null },
      ]),
    ),
  };
}

/** Returns a context name: `Acme Ltd.` becomes acme-ltd. Undefined for a name without usable letters. */
function nameFor(organization: string): string | undefined {
  const name = organization
    .normalize('NFKD')
    .replace(/\p{Mark}+/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 48);
  return name === '' ? undefined : name;
}
