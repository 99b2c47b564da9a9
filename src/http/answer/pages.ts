/** The pages that problems link to, and the OpenAPI document; both made from the contract on first use. */
import { problemHelp } from '../../contract/problem-help.ts';
import { problems, problemSlug, type ProblemCode } from '../../contract/problems.ts';
import { jsonMediaType, type Written } from './write.ts';

const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
} as const;

let openapi: Promise<string> | undefined;

/** The page of a problem, the OpenAPI document where no slug is given, or null. The slug is an attacker's. */
export async function renderPage(slug: string | undefined): Promise<Written | null> {
  if (slug === undefined) {
    openapi ??= import('../../contract/openapi.ts').then(({ openapiDocument }) =>
      JSON.stringify(openapiDocument()),
    );
    return { status: 200, body: await openapi, headers: { 'content-type': jsonMediaType } };
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
