import { openRealOpenStack } from '../clouds/openstack/real-cloud.ts';
import { upgradeSuite } from './upgrade-suite.ts';

/** A load balancer of a real Octavia takes minutes. */
upgradeSuite(`OpenStack, cloud ${process.env['OS_CLOUD']}`, openRealOpenStack, { waitMs: 300_000 });
