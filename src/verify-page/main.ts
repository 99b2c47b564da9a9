/**
 * The verify page: one HTML file that checks evidence without a network, with the verifier of the command line. It makes
 * elements from text, never HTML, with hidden characters as escapes, and its policy lets only this script run. `scripts/verify-page.ts` builds it. Tested in a
 * browser by `test/verify-page/browser.test.ts`.
 */
import { signatureNameOf } from '../core/reports/artifacts.ts';
import { GovTrustError, readTrust, type Trust, type Verdict } from '../client/verify.ts';
import { verifyFile } from '../client/verify-file.ts';
import { splitViewText } from '../core/evidence/file.ts';
import { judgeHistory, type HistoryVerdict } from '../core/evidence/history.ts';
import type { SignedHead } from '../core/note/heads.ts';
import { keptHeads, keep } from './kept.ts';
import { visibleLine, visibleText } from '../core/visible.ts';
import { shownOf, type VerdictText, type ShownCheck } from './words.ts';

const byId = <Kind extends HTMLElement>(id: string): Kind => document.getElementById(id) as Kind;

const trustText = byId<HTMLTextAreaElement>('trust');
const hash = byId<HTMLInputElement>('hash');
const files = byId<HTMLInputElement>('files');
const results = byId<HTMLElement>('results');

/** What is checked, so that other keys check it again. */
let chosen: readonly File[] = [];
/** Counts the checks: only the last one shows its results. */
let checking = 0;

/** The largest file that may be a trust file. */
const trustBytes = 1 << 20;

function say(id: string, text: string, isBad = false): void {
  const line = byId(id);
  line.textContent = visibleText(text);
  line.className = isBad ? 'bad' : '';
}

/** Null without a key, and with one that cannot be read, which the page says. */
function trustOf(): Trust | null {
  if (trustText.value.trim() === '') {
    say('trust-state', 'No key is trusted yet: nothing can be verified.');
    return null;
  }
  try {
    const trust = readTrust(trustText.value);
    const count = trust.keys.length === 1 ? 'one key' : `${trust.keys.length} keys`;
    const quorum = trust.quorum === 0 ? '' : `, and ${trust.quorum} of ${trust.witnesses.length} witnesses`;
    say('trust-state', `Trusted: ${count} of the log ${trust.origin}${quorum}.`);
    return trust;
  } catch (error) {
    if (!(error instanceof GovTrustError)) throw error;
    say('trust-state', `These keys cannot be read: ${error.message}`, true);
    return null;
  }
}

/** Null without one; undefined for a text that is no hash, which the page says. */
function hashOf(): string | null | undefined {
  const text = hash.value.trim();
  const [, digits] = /^(?:sha256:)?([0-9a-f]{64})$/.exec(text) ?? [];
  const isBad = text !== '' && digits === undefined;
  say('hash-state', isBad ? 'expected sha256: and 64 hex digits, got another text' : '', isBad);
  return text === '' ? null : digits === undefined ? undefined : `sha256:${digits}`;
}

const isSignature = ({ name }: File): boolean => name.endsWith('.dsse.json');

/** The signature of a JSON report, by name, or the only one. */
function signatureFor({ name }: File): File | undefined {
  const signatures = chosen.filter(isSignature);
  const own = signatureNameOf(name);
  return (
    signatures.find((each) => each.name === own) ?? (signatures.length === 1 ? signatures[0] : undefined)
  );
}

const busy = (isBusy: boolean): void => results.setAttribute('aria-busy', String(isBusy));

async function check(): Promise<void> {
  checking += 1;
  const own = checking;
  const trust = trustOf();
  const dataHash = hashOf();
  const evidence = chosen.filter((file) => !isSignature(file));
  if (dataHash === undefined || chosen.length === 0) return busy(false);
  busy(true);
  say('state', `Checking ${evidence.map(({ name }) => name).join(', ')} …`);
  results.replaceChildren();
  // lets the browser show the line before the work begins
  await new Promise((done) => setTimeout(done));
  const cards: HTMLElement[] = [];
  const kept = trust === null ? [] : keptHeads(trust);
  let verified = 0;
  for (const file of evidence) {
    const signature = file.name.endsWith('.json') ? signatureFor(file) : undefined;
    const card = await cardOf(file, { trust, dataHash, signature, kept });
    if (own !== checking) return;
    cards.push(card.element);
    verified += card.isVerified ? 1 : 0;
    results.replaceChildren(...cards);
  }
  if (trust !== null) keep(trust, kept);
  busy(false);
  say(
    'state',
    evidence.length === 0
      ? 'Give the report of this signature too.'
      : `Checked ${evidence.length}: ${verified} verified, ${evidence.length - verified} not verified.`,
  );
}

interface CheckInputs {
  readonly trust: Trust | null;
  readonly dataHash: string | null;
  readonly signature: File | undefined;
  /** Signed states of the log that were seen before; those of the file are added. */
  readonly kept: SignedHead[];
}

async function cardOf(
  file: File,
  { trust, dataHash, signature, kept }: CheckInputs,
): Promise<{ readonly element: HTMLElement; readonly isVerified: boolean }> {
  let verdict: Verdict;
  let heads: readonly SignedHead[] = [];
  const seen = (found: readonly SignedHead[]): void => {
    heads = found;
  };
  const options = {
    trust,
    ...(dataHash === null ? {} : { dataHash }),
    ...(signature === undefined ? {} : { signature: new Uint8Array(await signature.arrayBuffer()) }),
  };
  try {
    verdict = await verifyFile(file, options, { seen });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const unread = {
      tone: 'bad',
      verdict: 'Not verified: the file could not be read',
      reasons: [reason],
    } as const;
    return { element: card(file, { ...unread, facts: [], checks: [], layers: [] }), isVerified: false };
  }
  const history = heads.length === 0 ? null : judgeHistory(kept, heads);
  const article = card(file, shownOf(verdict, file.name, history));
  if (history?.split) article.append(evidenceLink(history.split));
  else kept.push(...heads);
  return { element: article, isVerified: verdict.verified && history?.result !== 'split' };
}

/** A link that saves the evidence of two histories. */
function evidenceLink(split: NonNullable<HistoryVerdict['split']>): HTMLElement {
  const link = document.createElement('a');
  link.textContent = 'Save the evidence';
  link.download = 'split-view.govevidence.json';
  link.href = URL.createObjectURL(new Blob([splitViewText(split)], { type: 'application/json' }));
  return link;
}

function element(name: string, text = '', className = ''): HTMLElement {
  const made = document.createElement(name);
  made.textContent = visibleText(text);
  if (className !== '') made.className = className;
  return made;
}

const marks = { good: '✓', wait: '!', bad: '✗' } as const;

function card(file: File, { tone, verdict, reasons, facts, checks, layers }: VerdictText): HTMLElement {
  const article = element('article', '', `verdict ${tone}`);
  article.setAttribute('aria-label', visibleLine(`${file.name}: ${verdict}`));
  article.append(element('p', `${marks[tone]} ${verdict}`), element('h3', file.name, 'exact'));
  for (const reason of reasons)
    article.append(reason.startsWith('gov ') ? element('code', reason) : element('p', reason));
  const list = element('dl');
  for (const [name, value] of facts) list.append(element('dt', name), element('dd', value, 'exact'));
  article.append(list);
  if (layers.length > 0) article.append(element('h4', 'What the proof shows'), listOf(layers));
  if (checks.length > 0) article.append(element('h4', 'What was checked'), listOf(checks));
  return article;
}

function listOf(checks: readonly ShownCheck[]): HTMLElement {
  const list = element('ul');
  for (const { result, word, text } of checks) {
    const item = element('li', '', result);
    item.append(element('b', `${word}: `), visibleText(text));
    list.append(item);
  }
  return list;
}

/**
 * Keys are taken as keys, wherever they were given; the rest is evidence. Keys that come with evidence never replace others:
 * the author of the evidence may have added them.
 */
async function take(given: readonly File[]): Promise<void> {
  const evidence: File[] = [];
  const keys: { readonly name: string; readonly text: string }[] = [];
  busy(true);
  // remove the verdicts of earlier files first, so that none is shown with the names of new files
  results.replaceChildren();
  for (const file of given) {
    const text = await trustTextOf(file);
    if (text === null) evidence.push(file);
    else keys.push({ name: file.name, text });
  }
  const isKept = evidence.length > 0 && trustText.value.trim() !== '';
  const others = keys.filter(({ text }) => text.trim() !== trustText.value.trim());
  if (!isKept) trustText.value = keys.at(-1)?.text ?? trustText.value;
  if (evidence.length > 0) chosen = evidence;
  await check();
  if (isKept && others.length > 0) {
    const names = others.map(({ name }) => name).join(', ');
    say(
      'trust-state',
      `The keys above were kept, those in ${names} were not used. Give that file alone to use it.`,
    );
  }
}

/** The text of a trust file; null for any other file, and for what cannot be read, such as a folder. */
async function trustTextOf(file: File): Promise<string | null> {
  if (file.size > trustBytes || /\.(?:json|pdf)$/.test(file.name)) return null;
  const text = await file.text().catch(() => '');
  return isTrust(text) ? text : null;
}

function isTrust(text: string): boolean {
  try {
    readTrust(text);
    return true;
  } catch (error) {
    if (error instanceof GovTrustError) return false;
    throw error;
  }
}

files.addEventListener('change', () => void take([...(files.files ?? [])]));
byId<HTMLInputElement>('trust-file').addEventListener('change', async ({ target }) => {
  const [file] = (target as HTMLInputElement).files ?? [];
  if (file === undefined) return;
  trustText.value = file.size <= trustBytes ? await file.text().catch(() => '') : '';
  await check();
});
trustText.addEventListener('input', () => void check());
hash.addEventListener('input', () => void check());
for (const name of ['dragover', 'dragleave', 'drop'] as const)
  document.addEventListener(name, (event) => {
    event.preventDefault();
    document.body.classList.toggle('over', name === 'dragover');
    if (name === 'drop') void take([...(event.dataTransfer?.files ?? [])]);
  });
trustOf();
