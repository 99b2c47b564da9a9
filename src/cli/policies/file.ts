/**
 * Policies as files. `*.json`: {policyId, name, description?, condition, action, severity?}, with the condition as JSON
 * in any accepted spelling or as a string in the text syntax. `*.policy`: the text form of `text-form.ts`. For other files
 * and standard input the first character decides. Tested by `test/cli/commands/policy/files.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { policyId as policyIdSchema } from '../../contract/policies.ts';
import { nameMembers, nameOf, policyActions, policySeverities } from '../../contract/policy-words.ts';
import type { PolicyName } from '../../contract/policy-words.ts';
import { type Json, type JsonObject } from '../../core/json/parse.ts';
import { canonicalCondition } from '../../core/policies/language/canonical.ts';
import { type PolicyVersion } from '../../core/policies/set/in-force.ts';
import { assertVisible } from '../../core/policies/language/lexer.ts';
import { parseCondition } from '../../core/policies/language/parse.ts';
import { policyHash } from '../../core/policies/language/hash.ts';
import { parseText } from '../../core/policies/language/text.ts';
import { usage } from '../program/exit.ts';
import { filesOf, inFile, objectOf, readInput, type InputText, type InputIo } from '../terminal/input.ts';
import { isObject } from '../../core/json/object.ts';
import { schemaOf } from '../program/schema.ts';
import { parsePolicyText, type TextPolicy } from './text-form.ts';

export interface PolicyFile extends TextPolicy {
  readonly file: string;
  readonly name: string;
  /** The condition as sent to the service. */
  readonly condition: JsonObject;
  /** The canonical condition, as it is hashed. */
  readonly normalized: Json;
}

const endings = ['.policy', '.json'];
const casesEnding = '.cases.json';

/** Reads the policies of files and directories. Errors: exit 2 for a file without a policy, and for a repeated id. */
export async function readPolicies(words: readonly string[], place: InputIo): Promise<PolicyFile[]> {
  const files = filesOf(words, endings, place).filter(
    (file) => !file.endsWith(casesEnding) || words.includes(file),
  );
  const policies: PolicyFile[] = [];
  for (const file of files) policies.push(policyOf(await readInput(file, place)));
  const known = new Map<string, string>();
  for (const { policyId, file } of policies) {
    const first = known.get(policyId);
    if (first !== undefined)
      throw usage(`expected each policy once, got ${JSON.stringify(policyId)} in ${first} and ${file}`);
    known.set(policyId, file);
  }
  return policies;
}

export async function readPolicy(word: string, place: InputIo): Promise<PolicyFile> {
  const [policy, ...more] = await readPolicies([word], place);
  if (policy !== undefined && more.length === 0) return policy;
  throw usage(`${word}: expected one policy, got ${more.length + 1}`);
}

function policyOf(text: InputText): PolicyFile {
  const { file, bytes } = text;
  const isJson = file.endsWith('.json') || (!file.endsWith('.policy') && /^\s*\{/.test(head(bytes)));
  const read = isJson ? fromJson(text) : { ...inFile(file, () => parsePolicyText(source(text))), json: null };
  const { policyId, action, severity, requireSignedApproval, onIndeterminate } = read;
  if (!idPattern.test(policyId)) {
    throw usage(`${file}: expected a policyId that matches ${idPattern.source}, got ${shownText(policyId)}`);
  }
  const named = nameOf({ ...read, name: read.name ?? policyId });
  within(file, named);
  const condition = read.json ?? wireOf(canonicalCondition(read.node));
  // parsed as the service will parse it
  const node = parseCondition(condition);
  const normalized = canonicalCondition(node);
  const answer = { action, severity, requireSignedApproval, onIndeterminate };
  return { file, policyId, ...named, ...answer, node, condition, normalized };
}

const idPattern = new RegExp(schemaOf(policyIdSchema).pattern ?? '', 'u');

const shownText = (text: string): string => JSON.stringify(text.slice(0, 64));

const mostChars: Readonly<Record<keyof PolicyName, number>> = {
  name: limits.policyNameChars,
  description: limits.policyDescriptionChars,
};

function within(file: string, named: PolicyName): void {
  for (const member of nameMembers) {
    const chars = named[member]?.length ?? 0;
    const most = mostChars[member];
    if (chars > most) throw usage(`${file}: expected at most ${most} characters as ${member}, got ${chars}`);
  }
  if (named.name === '') throw usage(`${file}: expected a name, got an empty one`);
}

/** On the wire a condition is an object, even if it is a plain true or false. */
const wireOf = (normalized: Json): JsonObject =>
  isObject(normalized) ? normalized : normalized === true ? {} : { and: [normalized] };

const head = (bytes: Uint8Array): string => Buffer.from(bytes.subarray(0, 256)).toString();

function source({ file, bytes }: InputText): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw usage(`${file}: expected UTF-8, got other bytes`);
  }
}

const members: readonly string[] = [
  'policyId',
  ...nameMembers,
  'condition',
  'action',
  'severity',
  'requireSignedApproval',
  'onIndeterminate',
];

function fromJson(text: InputText): TextPolicy & { json: JsonObject | null } {
  const { file } = text;
  const value = objectOf(text);
  inFile(file, () => assertVisible(source(text)));
  const other = Object.keys(value).find((name) => !members.includes(name));
  if (other !== undefined)
    throw usage(`${file}: expected ${members.join(', ')}, got ${JSON.stringify(other)}`);
  const string = (name: string): string | null => {
    const found = value[name];
    if (found === undefined || found === null) return null;
    if (typeof found === 'string') return found;
    throw usage(`${file}: expected a string as ${name}, got another type`);
  };
  const policyId = string('policyId');
  if (policyId === null) throw usage(`${file}: expected a policyId, got none`);
  const { condition } = value;
  if (condition === undefined) throw usage(`${file}: expected a condition, got none; {} always matches`);
  const { requireSignedApproval = false } = value;
  if (typeof requireSignedApproval !== 'boolean')
    throw usage(`${file}: expected true or false as requireSignedApproval, got another type`);
  const node = inFile(file, () =>
    typeof condition === 'string' ? parseText(condition) : parseCondition(condition),
  );
  return {
    policyId,
    name: string('name'),
    description: string('description'),
    action: oneOf(policyActions, { file, name: 'action', value: string('action') }),
    severity:
      string('severity') === null
        ? null
        : oneOf(policySeverities, { file, name: 'severity', value: string('severity') }),
    requireSignedApproval,
    onIndeterminate:
      string('onIndeterminate') === null
        ? null
        : oneOf(policyActions, { file, name: 'onIndeterminate', value: string('onIndeterminate') }),
    node,
    json: isObject(condition) ? condition : null,
  };
}

function oneOf<Word extends string>(
  words: readonly Word[],
  { file, name, value }: { file: string; name: string; value: string | null },
): Word {
  const found = words.find((word) => word === value);
  if (found !== undefined) return found;
  throw usage(`${file}: expected ${name} to be one of ${words.join(', ')}, got ${JSON.stringify(value)}`);
}

/** Returns a file as a version of its policy. */
export function versionOf(policy: PolicyFile, version = 1): PolicyVersion {
  const { policyId, name, action, severity, requireSignedApproval, onIndeterminate, normalized } = policy;
  const answer = { action, severity, requireSignedApproval, onIndeterminate };
  const hashed = { policyId, version, condition: normalized, ...answer };
  return { ...hashed, name, policyHash: policyHash(hashed) };
}
