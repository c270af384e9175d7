import { lifeSuite } from '../life/life-suite.ts';
import { openHetznerLife } from './life-cloud.ts';

lifeSuite('a fake Hetzner Cloud', [openHetznerLife], { services: true });
