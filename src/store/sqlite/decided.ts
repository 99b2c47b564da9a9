/** The leaf types that rows of `decided` find, for the checks of this engine. */
export { isIndexed, typeNumber, typeNumbers } from '../decided.ts';
