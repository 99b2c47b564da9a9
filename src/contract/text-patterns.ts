/** Patterns of texts that are also looked at where no schema is. */

/** A TypeID: a prefix, and 26 characters of Crockford's base32. */
export const idPattern = (prefix: string): string => `^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`;

/**
 * A name for people to read: no C0 or C1 control characters, no line separators, nothing that turns the direction of
 * writing, and something that is seen.
 */
export const namePattern =
  '^(?=.*[^\\s\\u00ad\\u200b-\\u200d\\u2060-\\u2064])' +
  '[^\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]*$';
