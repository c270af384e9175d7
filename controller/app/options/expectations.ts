import { isIP } from 'node:net';
import { parseClusterCidrs } from '../../model/cluster-cidrs.ts';
import { parseBudget } from '../../model/deletion-budget.ts';
import { parseSelector } from '../../model/selector.ts';
import { parseTagLabelRule } from '../../model/tag-labels.ts';
import { trustName } from '../../reports/attestation/trust.ts';
import { parseAttachGrant, parseRetainGrant } from '../../services/operator-policy.ts';

/** Returns what was expected of a flag's value; undefined when the value is valid. Pure. */
type Expectation = (text: string) => string | undefined;

const words = (separator: string, text: string) => text.split(separator);

/** For `[NAME=]SELECTOR`; the name is checked where the clouds are known. */
export const ofSelector: Expectation = (text) => selectorFault(text.replace(/^[a-z0-9-]+=(?=.*[=!( ])/, ''));

export function selectorFault(text: string): string | undefined {
  try {
    parseSelector(text);
    return undefined;
  } catch (error) {
    return String(error instanceof Error ? error.message : error).replace(/^.*?, expected /, '');
  }
}

/** Refuses a budget of 0: a budget always allows one deletion. */
export const ofBudget: Expectation = (text) => {
  const budget = parseBudget(text);
  if ('expected' in budget) return budget.expected;
  const most = 'share' in budget.limit ? budget.limit.share : budget.limit.count;
  return most > 0 ? undefined : 'more than 0; to delete no Nodes at all, leave the loop out of --controllers';
};

/** An empty text is an empty list. */
export const ofAttachGrants: Expectation = (text) =>
  text === '' || words(',', text).every((word) => parseAttachGrant(word) !== undefined)
    ? undefined
    : 'ids separated by commas, each without blanks and none of them empty; ID=NAMESPACE or ID=NAMESPACE/NAME ' +
      'for some Services alone';

/** An empty text is an empty list. */
export const ofTagLabelRules: Expectation = (text) =>
  text === '' || words(',', text).every((word) => parseTagLabelRule(word) !== undefined)
    ? undefined
    : 'TAGPREFIX=DOMAIN/, such as k8s-label/=example.com/, with a domain that is not of Kubernetes or Mooring';

export const ofRetainGrant: Expectation = (text) =>
  parseRetainGrant(text) === undefined ? 'the name of a namespace, class:NAME of a loadBalancerClass, or *' : undefined;

export const ofKeepGrant: Expectation = (text) => (text === '' ? undefined : ofRetainGrant(text));

/** An empty text is an empty list. */
export const ofSecurityGroups: Expectation = (text) =>
  text === '' || words(',', text).every((id) => /^sg-[0-9a-z]+$/.test(id))
    ? undefined
    : 'ids sg-… separated by commas, without blanks and none of them empty';

/** One range, or one of each family; an empty text is none. */
export const ofRanges: Expectation = (text) => {
  const ranges = parseClusterCidrs(text);
  if ('expected' in ranges) return ranges.expected;
  return ranges.some(({ prefix }) => prefix === 0) ? 'a mask of at least 1' : undefined;
};

/** The API server's own rule for `loadBalancerClass`. */
export const ofClass: Expectation = (text) =>
  /^([a-z0-9]([a-z0-9.-]*[a-z0-9])?\/)?[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/.test(text)
    ? undefined
    : 'a class such as example.com/internal';

/** The empty name is valid: classic controllers use it in names of resources, too. */
export const ofClusterName: Expectation = (text) =>
  /^[^\p{C}]{0,255}$/u.test(text) ? undefined : 'at most 255 printable characters';

/** For the address at which other machines reach this one. */
export const ofReachableHost: Expectation = (text) => {
  const unspecified = /^[0.:]+$/.test(text);
  const isName = /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(text) && !/^[\d.]+$/.test(text);
  return text === '' || (isIP(text) !== 0 && !unspecified) || isName
    ? undefined
    : 'an IP address or a host name, without port, at which other machines reach this one';
};

export const ofIpAddress: Expectation = (text) =>
  isIP(text) === 0 ? 'an IP address, such as 0.0.0.0 for all of IPv4 or :: for all' : undefined;

export const ofAudience: Expectation = (text) => (/^\S+$/.test(text) ? undefined : 'an audience, such as mooring');

/** For `NAME=PATH`; whether the name is free is checked where the clouds are known. */
export const ofCloudModule: Expectation = (text) =>
  /^[a-z][a-z0-9-]{0,31}=./.test(text)
    ? undefined
    : "NAME=PATH with NAME of lower-case letters, digits and '-', at most 32 characters";

/** For `NAME=FILE`. */
export const ofTrust: Expectation = (text) => {
  const at = text.indexOf('=');
  return at > 0 && trustName.test(text.slice(0, at)) && at < text.length - 1
    ? undefined
    : 'NAME=FILE with NAME one of aws, aws/REGION, azure, gce, simulated';
};

/** RFC 1123: the names that the API server accepts for a Lease or a namespace. */
export const ofObjectName: Expectation = (text) =>
  text.length <= 253 && /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(text)
    ? undefined
    : "a name of lower-case letters, digits, '-' and '.'";
