import type { CloudConfigFile, CloudContext, CloudModule, OpenedCloud, ReportOnlyCloud } from './cloud.ts';
import { configFilesOf } from './config-files.ts';
import type { WrapHttp } from './connections.ts';
import type { MemberChoice } from './load-balancers.ts';
import type { ReadText } from './variables.ts';

/** What a cloud is opened with, after its configuration was read. */
export interface CloudParts<Config> {
  readonly config: Config;
  readonly context: CloudContext;
  readonly wrapHttp?: WrapHttp;
}

/** With the files that a credential is read from again and again. */
export interface CloudPartsWithFiles<Config> extends CloudParts<Config> {
  readonly readText: ReadText;
}

type Answer<T> = T | ReportOnlyCloud | Promise<T | ReportOnlyCloud>;

/**
 * The module of a cloud whose configuration is read first: its warnings are logged, and without a credential the cloud
 * is report-only.
 *
 * @param read throws a CloudConfigError
 */
export function configuredModule<Config extends { readonly warnings: readonly string[] }>(
  name: string,
  read: (file: CloudConfigFile | undefined, env: CloudContext['env'], readText: ReadText) => Answer<Config>,
  openWith: (parts: CloudPartsWithFiles<Config>) => Answer<OpenedCloud>,
  memberChoice?: MemberChoice,
): CloudModule {
  return {
    name,
    ...(memberChoice && { memberChoice }),
    async open(file, context) {
      const { readText } = configFilesOf(name);
      const config = await read(file, context.env, readText);
      if ('reportOnly' in config) return config;
      for (const warning of config.warnings) context.log.warn(warning, { cloud: name });
      return openWith({ config, context, readText });
    },
  };
}
