/** The release of this client and tool, the same as in package.json. Tested by `test/client/create.test.ts`. */
export const version = '0.1.0';
