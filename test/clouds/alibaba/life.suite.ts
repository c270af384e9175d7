import { lifeSuite } from '../life/life-suite.ts';
import { openAlibabaLife } from './life-cloud.ts';

lifeSuite('a fake Alibaba Cloud', [openAlibabaLife], { services: true });
