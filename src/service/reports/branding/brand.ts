/** The branding of a project as reports show it. Proven by `test/service/reports/branding.test.ts`. */
import type { ReportPaper } from '../../../contract/report-parts.ts';
import { defaultColors, defaultPaper } from '../../../contract/reports.ts';
import type { ReportBranding } from '../../../core/reports/model.ts';
import type { Services } from '../../port/services.ts';
import {
  brandingKind,
  dataOf,
  logoKind,
  type ReportDocumentOf,
  type StoredBranding,
  type StoredLogo,
} from '../stored.ts';

/** Null before the first change. */
export async function storedBranding(
  { store }: Pick<Services, 'store'>,
  projectId: string,
): Promise<ReportDocumentOf<StoredBranding> | null> {
  const document = await store.document(projectId, brandingKind, brandingKind);
  return document === null ? null : { document, stored: dataOf<StoredBranding>(document) };
}

/** A logo that cannot be read is left out, and the log says why. */
export async function brandingOf(
  services: Services,
  projectId: string,
): Promise<{ readonly branding: ReportBranding; readonly paper: ReportPaper }> {
  const found = await storedBranding(services, projectId);
  if (found === null) {
    const branding = { companyName: null, ...defaultColors, footerText: null, logo: null };
    return { branding, paper: defaultPaper };
  }
  const { companyName, primaryColor, accentColor, footerText, logoId, paper = defaultPaper } = found.stored;
  const logo = logoId === null ? null : await logoOf(services, projectId, logoId);
  return { branding: { companyName, primaryColor, accentColor, footerText, logo }, paper };
}

async function logoOf(
  services: Services,
  projectId: string,
  logoId: string,
): Promise<ReportBranding['logo']> {
  const document = await services.store.document(projectId, logoKind, logoId);
  if (document === null) return null;
  const stored = dataOf<StoredLogo>(document);
  try {
    return {
      mediaType: stored.mediaType,
      bytes: await readLogo(services, { projectId, exportId: logoId }, stored),
    };
  } catch (error) {
    services.log.error({ err: error, logoId }, 'a logo cannot be read; reports have none');
    return null;
  }
}

/** EXPORT_FAILED where it is missing or altered. */
export async function readLogo(
  { exports }: Pick<Services, 'exports'>,
  place: { readonly projectId: string; readonly exportId: string },
  stored: StoredLogo,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  const range = { from: 0, to: stored.sizeBytes };
  for await (const part of exports.artifacts.read(place, stored, range)) parts.push(part);
  return new Uint8Array(Buffer.concat(parts));
}
