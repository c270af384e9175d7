import { pathToFileURL } from 'node:url';
import type { DebianLock } from '../image/debian-packages.ts';

export interface ProvenanceInput {
  readonly version: string;
  /** Where the sources are: see `repositoryUri`. */
  readonly repository: string;
  /** Of the checkout that was built. */
  readonly commit: string;
  /** SHA-256 of each file of the release. */
  readonly files: ReadonlyMap<string, string>;
  /** SHA-256. */
  readonly packageLock: string;
  readonly debian: DebianLock;
  /** Who built it, as a URI. */
  readonly builder: string;
}

/**
 * The remote of a checkout as a URI without user and password, such as https://github.com/example/mooring. Takes the
 * short form of SSH, too, git@github.com:example/mooring.git, and a path.
 *
 * @throws Error where it is neither
 */
export function repositoryUri(remote: string): string {
  if (remote.startsWith('/')) return pathToFileURL(remote).href;
  const [, host, path] = /^(?:[^@/:]+@)?([^/:]+):(?!\/\/)(.+)$/.exec(remote) ?? [];
  const text = host === undefined ? remote : `ssh://${host}/${path}`;
  if (!URL.canParse(text)) throw new Error('the remote origin: expected a URL or host:path');
  const url = new URL(text);
  url.username = '';
  url.password = '';
  return url.href;
}

/**
 * From what the files were made, as a statement of in-toto with the predicate of SLSA 1. It has no time, so that the
 * same commit gives the same statement. Pure.
 */
export function provenanceOf(input: ProvenanceInput): object {
  const { version, repository, commit, files, packageLock, debian, builder } = input;
  const debs = new Map(Object.values(debian).flatMap((packages) => packages.map((each) => [each.path, each.sha256])));
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [...files].map(([name, sha256]) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'https://mooring.dev/build/npm-run-release/v1',
        externalParameters: { repository, version, command: 'npm ci && npm run release' },
        resolvedDependencies: [
          { uri: `git+${repository}`, digest: { gitCommit: commit } },
          { uri: 'file:package-lock.json', digest: { sha256: packageLock } },
          ...[...debs].map(([path, sha256]) => ({ uri: `https://deb.debian.org/debian/${path}`, digest: { sha256 } })),
        ],
      },
      runDetails: { builder: { id: builder } },
    },
  };
}
