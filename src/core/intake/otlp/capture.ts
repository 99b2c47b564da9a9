/**
 * What is kept of the content that telemetry carries: arguments, results, messages and the people it names. A project
 * keeps it, its SHA-256 over canonical JSON (RFC 8785), or nothing. Tested by `test/core/intake/otlp/capture.test.ts`.
 */
import type { ContentCapture } from '../../../contract/projects.ts';
import { digestOf } from '../../json/digest.ts';
import { isSource, type Source } from '../run.ts';

const contentMembers: ReadonlySet<string> = new Set([
  'arguments',
  'content',
  'input',
  'output',
  'system',
  'body',
  'statusMessage',
  'spanEvents',
]);

/** Attributes with content or people, by the names of the conventions in use. */
const contentAttributes = new RegExp(
  [
    '^(?:user|enduser)\\.',
    '^(?:prompt|prompt_text|arguments|output|response|completion|body|content|command|full_command|description)$',
    '^(?:input|output)\\.',
    '^tool_(?:input|output|parameters|result|arguments)$',
    '^function_args$',
    'messages?(?:\\.|$)',
    'prompts?(?:\\.|$)',
    'completions?(?:\\.|$)',
    '(?:arguments|args|result|results|parameters|instructions|definitions|documents?|embeddings?|query)(?:\\.|$)',
    '^(?:exception|error)\\.(?:message|stacktrace)$',
    '^error$',
    '^ai\\.(?:prompt|response\\.(?:text|object|toolCalls|reasoning)|settings\\.context)',
    '^traceloop\\.entity\\.(?:input|output)$',
    '^gcp\\.vertex\\.agent\\.(?:llm_request|llm_response|tool_call_args|tool_response|data)$',
    '^langfuse\\..*(?:input|output|metadata)$',
    '^(?:user_|account_|organization_)(?:id|email|uuid|name)$',
  ].join('|'),
);

/** An attribute of an unknown name is content if it is longer than a label. */
const labelChars = 256;

/**
 * Returns the metadata of an event as the policy allows: content as it is, as `{hash, bytes}`, or left out. The hash is
 * that of a tool evaluation's `argumentsHash`. Cost: one hash for each value with content.
 */
export function capture(metadata: Source, policy: ContentCapture): Source {
  if (policy === 'full') return metadata;
  const kept = (value: unknown) => (policy === 'none' ? undefined : digestOf(value));
  const captured: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(metadata)) {
    if (value === undefined || value === null) continue;
    if (contentMembers.has(name)) captured[name] = kept(value);
    else if (name !== 'otel' || !isSource(value)) captured[name] = value;
    else {
      const attributes = Object.entries(value).map(([key, of]) => [key, isContent(key, of) ? kept(of) : of]);
      captured[name] = Object.fromEntries(attributes); // also a name such as `__proto__`
    }
  }
  return captured;
}

/** Programs use few names, again and again: looking one up costs a tenth of matching it. */
const known = new Map<string, boolean>();
const knownMost = 10_000;

function isContentName(name: string): boolean {
  const found = known.get(name);
  if (found !== undefined) return found;
  if (known.size >= knownMost) known.clear();
  const isContentful = contentAttributes.test(name);
  known.set(name, isContentful);
  return isContentful;
}

function isContent(name: string, value: unknown): boolean {
  if (isContentName(name)) return typeof value !== 'number' && typeof value !== 'boolean';
  if (typeof value === 'string') return value.length > labelChars;
  return typeof value === 'object' && JSON.stringify(value).length > labelChars;
}
