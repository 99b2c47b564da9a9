/** The media type of an evidence file (`file.ts`). */
export const evidenceMediaType = 'application/vnd.gov.evidence.v1+json';
