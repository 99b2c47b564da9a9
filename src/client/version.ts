/** The release of this client and tool, the same as in package.json. Tested by `test/client/create.test.ts`. */
export const version = '0.1.0';

/** Set by `scripts/build.ts`. */
declare const GOV_BUILD: string | undefined;

/**
 * Which build this is, as a version of SemVer 2.0.0: `-dev` until the changelog has the release, then the commit and the versions
 * of the databases, such as `0.1.0-dev+1b874972.db11.pg14`. Tested by `test/launch.test.ts`.
 */
export const build: string = typeof GOV_BUILD === 'string' ? GOV_BUILD : `${version}-dev+source`;

/** What `gov --version` and `gov version` print, on a terminal and in a pipe. */
export const versionLine = `gov ${version} (build ${build})`;
