import { defineFlags } from '../../../common/process/flags.ts';
import { taggingFlags } from './tagging-options.ts';

const of = (cloud: string) => `Of the classic controller of ${cloud}.`;
const ownRules = 'see the annotations of Services that choose the kind of load balancer';

/**
 * Flags that the classic controller of one cloud has beside upstream's, so that its manifest can be moved over. Those
 * without the same meaning here are accepted with a warning, or refused where the result would differ from what is asked
 * for.
 */
export const vendorFlags = {
  ...taggingFlags,
  ...defineFlags({
    'cloud-config-key': {
      kind: 'string',
      default: '',
      help: of('azure'),
      refused: 'mount the Secret and name its file in --cloud-config',
    },
    'cloud-config-secret-name': {
      kind: 'string',
      default: '',
      help: of('azure'),
      refused: 'mount the Secret and name its file in --cloud-config',
    },
    'cloud-config-secret-namespace': {
      kind: 'string',
      default: '',
      help: of('azure'),
      refused: 'mount the Secret and name its file in --cloud-config',
    },
    'cloud-provider-gce-l7lb-src-cidrs': {
      kind: 'list',
      help: of('gce'),
      refused: "the ranges are those of the vendor's health checks: remove this flag",
    },
    'cloud-provider-gce-lb-src-cidrs': {
      kind: 'list',
      help: of('gce'),
      refused: "the ranges are those of the vendor's health checks: remove this flag",
    },
    'enable-dynamic-reloading': {
      kind: 'bool',
      default: false,
      help: of('azure'),
      ignored: 'the file of --cloud-config is always read again when it changes',
    },
    'enable-gke-tenant-controller': {
      kind: 'bool',
      default: false,
      help: of('gce'),
      refused: 'several projects are several --cloud-config files',
    },
    'enable-l4-deny-firewall': {
      kind: 'bool',
      default: false,
      help: of('gce'),
      refused: 'no rule denies traffic: remove this flag',
    },
    'enable-l4-deny-firewall-rollback-cleanup': {
      kind: 'bool',
      default: false,
      help: of('gce'),
      refused: 'no rule denies traffic: remove this flag',
    },
    'enable-l4-ilb-fine-grained-lock': {
      kind: 'bool',
      default: false,
      help: of('gce'),
      ignored: 'Services do not wait for one another',
    },
    'enable-l4-lb-annotations': {
      kind: 'bool',
      default: false,
      help: of('gce'),
      ignored: 'explain names the resources',
    },
    'enable-multi-project': {
      kind: 'bool',
      default: false,
      help: of('gce'),
      refused: 'several projects are several --cloud-config files',
    },
    'enable-rbs-default-l4-netlb': { kind: 'bool', default: false, help: of('gce'), refused: ownRules },
    'user-agent': { kind: 'repeat', help: of('openstack'), ignored: 'the User-Agent names Mooring' },
  }),
};
