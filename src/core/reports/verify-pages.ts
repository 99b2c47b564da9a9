/**
 * The pages of a report, rendered again from its data and compared object by object (step 6 of `verify.ts`). Separate,
 * because it needs the renderer and the fonts. Proven by `test/core/reports/verify.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { sha256Text } from '../hash.ts';
import type { VerdictCode } from '../proofs/verdict.ts';
import { presentationFile, signatureFile } from './artifacts.ts';
import { differenceOf } from './compare-pages.ts';
import type { ReportAttachment, ReportFont, ReportFonts } from './inputs.ts';
import { toPdf } from './pdf/render.ts';
import { producer } from './presentation.ts';
import { type Presentation, readPresentation } from './read-data.ts';
import { type PdfFile, readPdf } from './read-pdf.ts';
import type { ComparePages } from './verify.ts';

const differs = (detail: string, code: VerdictCode = 'PAGES_DIFFER') => ({ code, detail });

/** `fonts`: those of this installation, and those for other scripts. Cost: that of rendering the report. */
export const comparePagesWith =
  (fonts: ReportFonts): ComparePages =>
  async ({ report, pdf, files }) => {
    const shown = files.get(presentationFile);
    const named = producerOf(pdf);
    if (shown === undefined || named === null)
      return differs(`expected ${presentationFile} and the name of our renderer`);
    const presentation = presentationOf(shown);
    if (typeof presentation === 'string') return differs(presentation, 'MALFORMED_REPORT');
    const own = fontsOf(presentation.fonts, fonts);
    if ('missing' in own) {
      const detail = `the report was set in ${own.missing}, which is not here: give the folder with --fonts, or use the version that wrote it (${named})`;
      return differs(detail, 'PAGES_NOT_COMPARED');
    }
    const attachments: ReportAttachment[] = [];
    for (const name of Object.keys(report.attachments)) {
      const bytes = files.get(name);
      if (bytes !== undefined) attachments.push({ name, bytes });
    }
    const { paper, branding } = presentation;
    const signature = files.get(signatureFile) ?? null;
    try {
      const options = { paper, fonts: own, signature, producer: named };
      const again = await toPdf(report, branding, attachments, options);
      const difference = differenceOf(pdf, readPdf(Buffer.from(again)));
      if (difference === null)
        return { code: null, detail: 'rendered again from the attached data: the same' };
      if (named === producer()) return differs(difference);
      const detail = `${difference}; the file names ${named}, and here is ${producer()}: use that version, or judge the data alone with --data-only`;
      return differs(detail, 'PAGES_NOT_COMPARED');
    } catch (error) {
      // whatever an attacker's data makes the renderer throw, the pages are not those of a report that gov wrote
      return differs(error instanceof Error ? error.message : String(error));
    }
  };

function presentationOf(bytes: Uint8Array): Presentation | string {
  try {
    return readPresentation(bytes);
  } catch (error) {
    if (error instanceof GovError) return error.message;
    throw error;
  }
}

/** The renderer that the document information names; null where it is not one of ours. */
function producerOf({ objects }: PdfFile): string | null {
  for (const { text } of objects.values()) {
    const found = /^\((gov report renderer \d{1,6} )\\\((ICU [\w.]{1,20}, tz \w{1,20})\\\)\)$/.exec(text);
    if (found !== null) return `${found[1]}(${found[2]})`;
  }
  return null;
}

/** The fonts of a report among those that are here, by their hashes. */
function fontsOf(
  wanted: readonly { readonly name: string; readonly sha256: string }[],
  { regular, bold, mono, others }: ReportFonts,
): ReportFonts | { readonly missing: string } {
  const here = new Map([regular, bold, mono, ...others].map((font) => [sha256Text(font.bytes), font]));
  const found: ReportFont[] = [];
  for (const { name, sha256 } of wanted) {
    const font = here.get(`sha256:${sha256}`);
    if (font === undefined) return { missing: JSON.stringify(name.slice(0, 100)) };
    found.push({ name, bytes: font.bytes });
  }
  const [first, second, third, ...rest] = found;
  if (first === undefined || second === undefined || third === undefined)
    return { missing: 'fewer than three fonts' };
  return { regular: first, bold: second, mono: third, others: rest };
}
