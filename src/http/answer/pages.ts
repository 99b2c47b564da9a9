/**
 * The help pages of problems and the OpenAPI document, both rendered from the contract on first use. Proven
 * by `test/http/transport.test.ts`.
 */
import { problemHelp } from '../../contract/problem-help.ts';
import { problems, problemSlug, type ProblemCode } from '../../contract/problems.ts';
import type { OperationId } from '../../contract/table.ts';
import { jsonMediaType, type RawAnswer } from './write.ts';

const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
} as const;

/** By the operations of a server. */
const documents = new WeakMap<readonly OperationId[], Promise<string>>();

/**
 * The page of a problem, or the OpenAPI document of these operations where `slug` is undefined. Null for an unknown slug. An
 * attacker controls the slug.
 */
export async function renderPage(
  slug: string | undefined,
  operations: readonly OperationId[],
): Promise<RawAnswer | null> {
  if (slug === undefined) {
    const document =
      documents.get(operations) ??
      import('../../contract/openapi.ts').then(({ openapiDocument }) =>
        JSON.stringify(openapiDocument(operations)),
      );
    documents.set(operations, document);
    return { status: 200, body: await document, headers: { 'content-type': jsonMediaType } };
  }
  const code = (Object.keys(problems) as ProblemCode[]).find((known) => problemSlug(known) === slug);
  if (code === undefined) return null;
  return { status: 200, body: page(code), headers: pageHeaders };
}

function page(code: ProblemCode): string {
  const { status, title, retryable } = problems[code];
  const help = problemHelp[code].replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>${title}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:40em;margin:4em auto;padding:0 1em}</style>
<h1>${title}</h1>
<p>${help}</p>
<p><code>${code}</code>, status ${status}. ${retryable ? 'The same request may succeed later.' : ''}</p>
</html>
`;
}
