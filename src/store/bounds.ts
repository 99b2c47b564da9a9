/** Later than any time, beyond any index and any version: where a list starts that has no position yet. */
export const endOfTime = Number.MAX_SAFE_INTEGER;
/** After every id. */
export const endOfIds = '~';
