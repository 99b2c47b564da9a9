/**
 * How a report is printed: paper, branding and fonts, as the attached file `presentation.json`. With it and the data, a
 * verifier renders the same pages again. Proven by `test/core/reports/verify.test.ts`.
 */
import type { ReportPaper } from '../../contract/report-parts.ts';
import { sha256Text } from '../hash.ts';
import { canonicalText } from '../json/canonical.ts';
import type { ReportFont, ReportFonts } from './inputs.ts';
import type { ReportBranding } from './model.ts';

/** Raise it with every change of the pages, so that a verifier knows which reports it renders the same. */
const rendererVersion = 4;

/** The renderer of this process, as the PDF names it. Formats of dates and numbers come from ICU, zones from tz. */
export const producer = (): string =>
  `gov report renderer ${rendererVersion} (ICU ${process.versions['icu'] ?? 'none'}, tz ${process.versions['tz'] ?? 'none'})`;

interface RenderSettings {
  readonly paper: ReportPaper;
  readonly branding: ReportBranding;
  readonly fonts: ReportFonts;
}

const named = ({ name, bytes }: ReportFont): { name: string; sha256: string } => ({
  name,
  sha256: sha256Text(bytes).slice('sha256:'.length),
});

export function presentationBytes({ paper, branding, fonts }: RenderSettings): Uint8Array {
  const { logo, companyName, primaryColor, accentColor, footerText } = branding;
  return Buffer.from(
    canonicalText({
      schemaVersion: '1.0',
      paper,
      branding: {
        companyName,
        primaryColor,
        accentColor,
        footerText,
        logo:
          logo === null
            ? null
            : { mediaType: logo.mediaType, base64: Buffer.from(logo.bytes).toString('base64') },
      },
      fonts: [fonts.regular, fonts.bold, fonts.mono, ...fonts.others].map(named),
    }),
  );
}
