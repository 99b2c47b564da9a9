/**
 * The XML that an S3-compatible store answers: a page of a list, and an error. Texts come from the store and may be anything.
 * Proven by `test/host/forwards/archive.test.ts`.
 */

/** A page of a list (ListObjectsV2): its keys, and whether more keys follow. Null for a text that is no page. */
export function readPage(
  text: string,
): { readonly keys: readonly string[]; readonly isTruncated: boolean } | null {
  if (!text.includes('<ListBucketResult')) return null;
  return {
    keys: [...text.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key = '']) => decoded(key)),
    isTruncated: text.includes('<IsTruncated>true<'),
  };
}

/** Code and message of an error, in one line; the beginning of a text that is no error. */
export function errorText(text: string): string {
  const [, code] = /<Code>([^<]*)<\/Code>/.exec(text) ?? [];
  const [, message = ''] = /<Message>([^<]*)<\/Message>/.exec(text) ?? [];
  const said = code === undefined ? text : decoded(message === '' ? code : `${code}: ${message}`);
  return said.replaceAll(/\s+/g, ' ').trim().slice(0, 400);
}

const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

const decoded = (text: string): string =>
  text.replaceAll(/&(?:#(\d{1,7})|#x([\da-fA-F]{1,6})|(amp|lt|gt|quot|apos));/g, (whole, ten, hex, name) => {
    if (name !== undefined) return named[name as string] ?? whole;
    const code = ten === undefined ? parseInt(hex as string, 16) : Number(ten);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
