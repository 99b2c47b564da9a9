/** Patterns of texts that the schemas share with code that has no schema. Proven by `test/contract/schema.test.ts`. */

/** A TypeID: a prefix, and 26 characters of Crockford's base32. */
export const idPattern = (prefix: string): string => `^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`;

/**
 * A name that people read: no C0 or C1 control characters, line separators or bidirectional controls, and at least
 * one visible character.
 */
export const namePattern =
  '^(?=.*[^\\s\\u00ad\\u200b-\\u200d\\u2060-\\u2064])' +
  '[^\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]*$';

/** A line that people read, perhaps an empty one, without the characters that a name may not have. */
export const linePattern =
  '^[^\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]*$';
/** Lines that people read, with at least one visible character, and otherwise as `namePattern`. */
export const textPattern =
  '^(?=[^]*[^\\s\\u00ad\\u200b-\\u200d\\u2060-\\u2064])' +
  '[^\\u0000-\\u0009\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]*$';

/** The address of a receiver. */
export const httpsPattern = '^https://[^\\s]+$';

/** An identifier that the client chooses, such as that of a run. */
export const clientIdPattern = '^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$';
