/** Where a sovereign cloud of Azure answers. Every URL without a slash at the end. */
export interface Environment {
  /** Resource Manager. */
  readonly endpoint: string;
  /** Where tokens are issued. */
  readonly authority: string;
  /** What a token has to be for. */
  readonly audience: string;
}

const publicCloud: Environment = {
  endpoint: 'https://management.azure.com',
  authority: 'https://login.microsoftonline.com',
  audience: 'https://management.azure.com',
};
const china: Environment = {
  endpoint: 'https://management.chinacloudapi.cn',
  authority: 'https://login.chinacloudapi.cn',
  audience: 'https://management.core.chinacloudapi.cn',
};
const government: Environment = {
  endpoint: 'https://management.usgovcloudapi.net',
  authority: 'https://login.microsoftonline.us',
  audience: 'https://management.core.usgovcloudapi.net',
};

/** By the names of the classic controller, in lower case. */
const environments: ReadonlyMap<string, Environment> = new Map([
  ['', publicCloud],
  ['azurecloud', publicCloud],
  ['azurepubliccloud', publicCloud],
  ['azurechinacloud', china],
  ['azureusgovernment', government],
  ['azureusgovernmentcloud', government],
]);

export const environmentNames = 'AzurePublicCloud, AzureChinaCloud or AzureUSGovernmentCloud';

/** @param name in any case; empty: the public cloud */
export function environmentOf(name: string): Environment | undefined {
  return environments.get(name.toLowerCase());
}
